//! Building the TLS settings: rustls on ring, the system's trust or a private one.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;

use crate::error::HttpSetupError;
use crate::options::TlsTrust;

/// The settings for targets that speak `https`, without ALPN; `None` when TLS is switched off.
pub(crate) fn client_config(trust: &TlsTrust) -> Result<Option<ClientConfig>, HttpSetupError> {
    // The provider is named here instead of installed for the process: a library must not decide
    // for its host which cryptography everybody else uses.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| HttpSetupError::Tls(error.into()))?;
    let verified = match trust {
        TlsTrust::PlaintextOnly => return Ok(None),
        TlsTrust::Only(pem) => builder.with_root_certificates(roots(pem)?),
        TlsTrust::System => builder.dangerous().with_custom_certificate_verifier(Arc::new(
            Verifier::new(provider).map_err(|error| HttpSetupError::SystemTrust(error.into()))?,
        )),
        TlsTrust::SystemAnd(pem) => {
            // Checked one by one first, so that the fault is named as the extra certificates'.
            let extra = certificates(pem)?;
            roots(pem)?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(
                Verifier::new_with_extra_roots(extra, provider)
                    .map_err(|error| HttpSetupError::SystemTrust(error.into()))?,
            ))
        }
    };
    Ok(Some(verified.with_no_client_auth()))
}

fn roots(pem: &[u8]) -> Result<RootCertStore, HttpSetupError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(pem)? {
        store.add(certificate).map_err(|error| HttpSetupError::Certificates {
            problem: "one of them cannot be a trust anchor",
            source: Some(error.into()),
        })?;
    }
    Ok(store)
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, HttpSetupError> {
    let found: Vec<_> =
        CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(|error| {
            HttpSetupError::Certificates {
                problem: "they are not valid PEM",
                source: Some(Box::new(error)),
            }
        })?;
    if found.is_empty() {
        return Err(HttpSetupError::Certificates {
            problem: "there is no `BEGIN CERTIFICATE` block in them",
            source: None,
        });
    }
    Ok(found)
}
