//! Words of downstream businesses, in the text or the name of any file.

use crate::graph::Graph;
use crate::rule::{Rule, Rules};
use crate::violation::Violation;

pub(super) fn check(graph: &Graph, rules: &Rules, found: &mut Vec<Violation>) {
    for file in graph.files.iter().filter(|file| file.path != rules.word_list_file) {
        let name = std::iter::once((None, file.path.as_str()));
        let lines = file.text.lines().enumerate().map(|(n, line)| (Some(n + 1), line));
        for (line, text) in name.chain(lines) {
            let text = text.to_lowercase();
            for word in rules.business_words.iter().filter(|word| text.contains(**word)) {
                found.push(Violation {
                    rule: Rule::BusinessWords,
                    place: file.path.clone(),
                    line,
                    what: (*word).to_owned(),
                    message: format!(
                        "\"{word}\" is a word of a downstream business; this library serves all \
                         of them and names none"
                    ),
                });
            }
        }
    }
}
