//! JSON lines: each object becomes a draft, which borrows from the line where it can.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use subcat_engine::{DraftValue, RecordDraft};

use super::fields::{field_idx, field_name, field_of};
use super::row::{Row, RowRejection};

/// Reads one line. The result has its number.
///
/// Cost: about 1 µs for a line of 450 bytes. Errors: the line is not UTF-8, not JSON, not an
/// object, or names a field twice (Chosen here: JSON leaves open which of the two counts, and
/// dropping one silently would lose it).
///
/// ```
/// use subcat_engine::DraftValue;
/// use subcat_server::rows::read_line;
/// let row = read_line(7, br#"{"title":"Heat","year":1995,"studio":"x"}"#).unwrap();
/// assert_eq!(row.draft.year, DraftValue::Integer(1995));
/// assert_eq!(row.ignored, ["studio"]);
/// ```
pub fn read_line(line_number: u64, line: &[u8]) -> Result<Row<'_>, RowRejection> {
    let rejection = |field, reason| RowRejection {
        line: line_number,
        field,
        reason,
    };
    let text = std::str::from_utf8(line).map_err(|error| {
        let column = error.valid_up_to() + 1;
        rejection(None, format!("not UTF-8 at byte {column} of the line"))
    })?;
    let mut parser = serde_json::Deserializer::from_str(text);
    let parsed = parser
        .deserialize_any(ObjectVisitor)
        .and_then(|object| parser.end().map(|()| object));
    match parsed {
        Ok(LineValue::Fields {
            twice: Some(idx), ..
        }) => Err(rejection(
            Some(field_name(idx)),
            "given twice: leave one of them out".into(),
        )),
        Ok(LineValue::Fields { draft, ignored, .. }) => Ok(Row {
            line: line_number,
            draft: *draft,
            ignored,
        }),
        Ok(LineValue::Other(what)) => {
            let reason = format!("{what} instead of an object: write one JSON object per line");
            Err(rejection(None, reason))
        }
        Err(error) => Err(rejection(None, not_json(&error))),
    }
}

/// serde_json's reason without its line number, which is always 1 here.
fn not_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let reason = text.strip_suffix(&place).unwrap_or(&text);
    format!("not JSON: {reason} at column {}", error.column())
}

/// A bit for each field marks those that were present.
const _: () = assert!(RecordDraft::FIELDS.len() <= u32::BITS as usize);

/// The JSON value of a line.
enum LineValue<'a> {
    Fields {
        draft: Box<RecordDraft<'a>>,
        ignored: Vec<Cow<'a, str>>,
        twice: Option<usize>,
    },
    Other(&'static str),
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = LineValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut draft = Box::<RecordDraft<'de>>::default();
        let mut ignored = Vec::new();
        let mut twice = None;
        let mut seen = 0_u32;
        while let Some(known) = map.next_key_seed(FieldName)? {
            let idx = match known {
                Key::Field(idx) => idx,
                Key::Other(name) => {
                    map.next_value::<IgnoredAny>()?;
                    ignored.push(name);
                    continue;
                }
            };
            if seen & (1 << idx) != 0 {
                twice = twice.or(Some(idx));
            }
            seen |= 1 << idx;
            *field_of(&mut draft, idx) = map.next_value_seed(FieldValue)?;
        }
        Ok(LineValue::Fields {
            draft,
            ignored,
            twice,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(LineValue::Other("an array"))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(LineValue::Other("a text"))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(LineValue::Other("a number"))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(LineValue::Other("a number"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(LineValue::Other("a number"))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(LineValue::Other("true or false"))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(LineValue::Other("null"))
    }
}

/// A key.
enum Key<'a> {
    /// The position of the field that it names.
    Field(usize),
    /// A name that no field has.
    Other(Cow<'a, str>),
}

struct FieldName;

impl<'de> DeserializeSeed<'de> for FieldName {
    type Value = Key<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for FieldName {
    type Value = Key<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(field_idx(name).map_or(Key::Other(Cow::Borrowed(name)), Key::Field))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let other = || Key::Other(Cow::Owned(name.to_owned()));
        Ok(field_idx(name).map_or_else(other, Key::Field))
    }
}

/// Below it, every integer has a number of its own as a fraction.
const EXACT_INTEGERS_END: f64 = 9_007_199_254_740_992.0;

struct FieldValue;

impl<'de> DeserializeSeed<'de> for FieldValue {
    type Value = DraftValue<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FieldValue {
    type Value = DraftValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(DraftValue::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(DraftValue::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(DraftValue::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        // No field takes a number near the end of the range, so a saturated one is refused as well.
        Ok(DraftValue::Integer(
            i64::try_from(number).unwrap_or(i64::MAX),
        ))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        // A data frame writes all numbers of a column as `1.0` as soon as one cell is empty.
        let is_exact = number.fract() == 0.0 && number.abs() < EXACT_INTEGERS_END;
        Ok(if is_exact {
            DraftValue::Integer(number as i64)
        } else {
            DraftValue::Other("a number with a fraction")
        })
    }

    fn visit_bool<E>(self, is_true: bool) -> Result<Self::Value, E> {
        Ok(DraftValue::Boolean(is_true))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(DraftValue::Absent)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(DraftValue::Other("an array"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(DraftValue::Other("an object"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check_fault(line: impl AsRef<[u8]>, expected: &str) {
        let line = line.as_ref();
        let rejection = read_line(3, line).unwrap_err().to_string();
        assert_eq!(rejection, expected, "{}", String::from_utf8_lossy(line));
    }

    #[test]
    fn values_keep_their_type_and_borrow_from_the_line() {
        let line = br#"{"title":"Heat","description":"a\nb","season":null,"year":1995,
            "is_active":false,"downloads":18446744073709551615,"episode":1.5,"language":[1,[2]],
            "file_name":{"a":{}},"catalog_id":2.0}"#;
        let draft = read_line(1, line).unwrap().draft;
        assert_eq!(draft.title, DraftValue::Text("Heat".into()));
        assert!(matches!(draft.title, DraftValue::Text(Cow::Borrowed(_))));
        assert_eq!(draft.description, DraftValue::Text("a\nb".into()));
        assert_eq!(draft.season, DraftValue::Absent);
        assert_eq!(draft.year, DraftValue::Integer(1995));
        assert_eq!(draft.is_active, DraftValue::Boolean(false));
        assert_eq!(draft.downloads, DraftValue::Integer(i64::MAX));
        assert_eq!(draft.episode, DraftValue::Other("a number with a fraction"));
        assert_eq!(draft.language, DraftValue::Other("an array"));
        assert_eq!(draft.file_name, DraftValue::Other("an object"));
        assert_eq!(draft.catalog_id, DraftValue::Integer(2));
    }

    #[test]
    fn escaped_names_are_names_and_unknown_ones_are_counted() {
        let row = read_line(1, br#"{"\u0074itle":"x","a":[{"title":1}],"b":null,"":2}"#).unwrap();
        assert_eq!(row.draft.title, DraftValue::Text("x".into()));
        assert_eq!(row.ignored, ["a", "b", ""]);
    }

    #[test]
    fn bad_lines_say_what_is_wrong() {
        check_fault(
            "{\"title\":\"a",
            "line 3: not JSON: EOF while parsing a string at column 11",
        );
        check_fault("{} x", "line 3: not JSON: trailing characters at column 4");
        check_fault("nonsense", "line 3: not JSON: expected ident at column 2");
        check_fault(
            b"{\"title\":\"\xFF\"}",
            "line 3: not UTF-8 at byte 11 of the line",
        );
        check_fault(
            "{\"title\":1,\"title\":2}",
            "line 3: title: given twice: leave one of them out",
        );
        for (line, what) in [
            ("[1]", "an array"),
            ("\"x\"", "a text"),
            ("12", "a number"),
            ("-1", "a number"),
            ("1.5", "a number"),
            ("true", "true or false"),
            ("null", "null"),
        ] {
            let rest = "instead of an object: write one JSON object per line";
            check_fault(line, &format!("line 3: {what} {rest}"));
        }
    }

    #[test]
    fn deep_nesting_is_harmless() {
        let deep = format!("{{\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(read_line(1, deep.as_bytes()).unwrap().ignored, ["x"]);
        let deep = format!(
            "{{\"title\":{}{}}}",
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert!(read_line(1, deep.as_bytes()).is_err() || read_line(1, deep.as_bytes()).is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_rejected(line: Vec<u8>) {
            let _ = read_line(1, &line);
        }

        #[test]
        fn agrees_with_serde_json_on_what_is_an_object(line in "[{}\\[\\]\",:a1\\\\ ]{0,12}") {
            let is_object = serde_json::from_str::<serde_json::Value>(&line)
                .is_ok_and(|value| value.is_object());
            prop_assert_eq!(read_line(1, line.as_bytes()).is_ok(), is_object, "{}", line);
        }
    }
}
