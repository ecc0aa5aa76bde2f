//! Start, shutdown and drop: nothing outlives the server.

use std::io::ErrorKind;

use pgw_mock::{Answer, Endpoint, Match, MockError, MockServer, Scenario, Step};
use tokio::net::TcpStream;
use tokio::runtime::Handle;

use crate::client::{CHAT, Client, within};

async fn stalling() -> MockServer {
    let endpoint = Endpoint::chat().answer(Answer::raw_steps([Step::data("x"), Step::Stall]));
    MockServer::start(Scenario::new().endpoint(endpoint)).await.unwrap()
}

/// Clients in all states: stalled, idle, in the middle of a request.
async fn clients(mock: &MockServer) -> Vec<Client> {
    let mut stalled = Client::connect(mock).await;
    stalled.send_post(CHAT, "", "{}").await;
    assert_eq!(within(stalled.take(1)).await, b"x");
    let idle = Client::connect(mock).await;
    let mut half = Client::connect(mock).await;
    half.send(b"POST / HTT").await;
    within(mock.wait_until(|counters| counters.open_connections == 3)).await;
    vec![stalled, idle, half]
}

fn alive() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

#[tokio::test]
async fn shutdown_ends_all_tasks_and_connections() {
    let before = alive();
    let mock = stalling().await;
    let address = mock.address();
    let clients = clients(&mock).await;
    assert_eq!(alive(), before + 4, "one that accepts, one a connection");
    within(mock.shutdown()).await;
    assert_eq!(alive(), before);
    for mut client in clients {
        client.until_broken().await;
    }
    let refused = TcpStream::connect(address).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn drop_ends_all_tasks_and_connections() {
    let before = alive();
    let mock = stalling().await;
    let address = mock.address();
    let clients = clients(&mock).await;
    drop(mock);
    for mut client in clients {
        client.until_broken().await;
    }
    within(async {
        while alive() > before {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let refused = TcpStream::connect(address).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn address_can_be_chosen_and_a_taken_one_is_named() {
    let mock = stalling().await;
    assert_eq!(mock.base_url(), format!("http://127.0.0.1:{}/v1", mock.address().port()));
    let taken = MockServer::bind(mock.address(), Scenario::new()).await.unwrap_err();
    assert!(matches!(taken, MockError::Bind { address, .. } if address == mock.address()));
    assert_eq!(taken.to_string(), format!("cannot listen on {}", mock.address()));

    let address = mock.address();
    mock.shutdown().await;
    let again = MockServer::bind(address, Scenario::new()).await.unwrap();
    assert_eq!(again.address(), address);
}

#[tokio::test]
async fn faulty_scenario_does_not_start() {
    let scenario = Scenario::new()
        .endpoint(Endpoint::new("v1").answer(Answer::empty(99)))
        .endpoint(Endpoint::new("v1"));
    let error = MockServer::start(scenario).await.unwrap_err();
    let MockError::Scenario(error) = error else { panic!("{error}") };
    let paths: Vec<_> = error.problems().iter().map(pgw_mock::Problem::path).collect();
    assert_eq!(
        paths,
        [
            "endpoints[0].path",
            "endpoints[0].answers[0].status",
            "endpoints[1].path",
            "endpoints[1].answers",
            "endpoints[1].name",
        ]
    );
}

#[test]
fn debug_of_a_scenario_hides_its_keys() {
    let matching = Match::any().bearer("key-secret");
    let scenario = Scenario::new().endpoint(Endpoint::chat().matching(matching));
    assert!(!format!("{scenario:?}").contains("key-secret"));
}
