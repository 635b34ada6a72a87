//! Lists of the texts in a file, as JSON.

use serde_json::{Value, json};

use super::body_tag::{BodySum, TaggedBody};

/// A text in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedText {
    /// Path in the archive, or file name.
    pub name: String,
    /// Size when unpacked.
    pub size_bytes: u64,
    /// Season, if the name has one.
    pub season: Option<u32>,
    /// First episode, if the name has one.
    pub episode: Option<u32>,
}

/// Writes a list: `{"items":[…],"total":N}`.
pub fn file_list(texts: &[ListedText]) -> TaggedBody {
    let item = |text: &ListedText| {
        json!({
            "name": text.name,
            "size": text.size_bytes,
            "season": text.season,
            "episode": text.episode,
        })
    };
    let items: Vec<Value> = texts.iter().map(item).collect();
    let body = json!({ "items": items, "total": texts.len() }).to_string();
    let mut sum = BodySum::default();
    sum.add(body.as_bytes());
    TaggedBody {
        body: body.into(),
        tag: sum.tag(),
        is_partial: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_rule_17_9_a_list_has_its_fields_in_order() {
        let text = ListedText {
            name: "a/\"b\".srt".to_owned(),
            size_bytes: 42,
            season: Some(1),
            episode: None,
        };
        let list = file_list(&[text]);
        assert_eq!(
            list.body,
            r#"{"items":[{"name":"a/\"b\".srt","size":42,"season":1,"episode":null}],"total":1}"#
        );
        assert_ne!(list.tag, file_list(&[]).tag);
    }
}
