//! Texts of WebVTT: tags and entities (API.md 17.12).

/// The text of a cue with no tags but `b`, `i` and `u`, and with its entities resolved.
pub(super) fn plain_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        let Some(length) = rest[open..].find('>') else {
            break;
        };
        push_resolved(&mut out, &rest[..open]);
        push_tag(&mut out, &rest[open + 1..open + length]);
        rest = &rest[open + length + 1..];
    }
    push_resolved(&mut out, rest);
    out
}

/// Writes a tag that stays, bare and in lower case.
fn push_tag(out: &mut String, tag: &str) {
    let (slash, name) = match tag.strip_prefix('/') {
        Some(name) => ("/", name),
        None => ("", tag),
    };
    let name_end = name.find(|c: char| !c.is_alphanumeric());
    let name = name[..name_end.unwrap_or(name.len())].to_ascii_lowercase();
    if matches!(name.as_str(), "b" | "i" | "u") {
        out.push('<');
        out.push_str(slash);
        out.push_str(&name);
        out.push('>');
    }
}

const ENTITIES: [(&str, &str); 9] = [
    ("&amp;", "&"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&apos;", "'"),
    ("&#39;", "'"),
    ("&nbsp;", "\u{A0}"),
    ("&lrm;", "\u{200E}"),
    ("&rlm;", "\u{200F}"),
];

fn push_resolved(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let entity = ENTITIES.iter().find(|(name, _)| rest.starts_with(name));
        let (name, character) = entity.unwrap_or(&("&", "&"));
        out.push_str(character);
        rest = &rest[name.len()..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(plain_text(text), expected, "{text}");
    }

    #[test]
    fn api_rule_17_12_tags_and_entities() {
        check("<B.loud>a</B> <c>b</c>", "<b>a</b> b");
        check("<v Ana>a<00:01.000>b</v>", "ab");
        check("<v\nAna>a", "a");
        check("<bold>a <ruby>", "a ");
        check("a < b", "a < b");
        check("&lt;b&gt; &amp;lt; &foo; &", "<b> &lt; &foo; &");
        check(
            "&nbsp;&lrm;&rlm;&quot;&apos;&#39;",
            "\u{A0}\u{200E}\u{200F}\"''",
        );
    }
}
