//! Records as JSON: finished fragments and current download counts, written into one buffer.

use bytes::{BufMut, BytesMut};
use subcat_engine::CatalogId;

/// Bytes of a list beside its items, at most: names, brackets, the total.
pub const LIST_FRAME_BYTES: usize = 48;
/// Bytes of an item in a list beside its fragment, at most: the count, `imdb_id`, its end.
pub const ITEM_FRAME_BYTES: usize = 64;

/// Style of written items.
#[derive(Debug, Clone, Copy)]
pub struct RecordStyle {
    /// Each item ends with `imdb_id` (API.md, search).
    pub has_imdb_id: bool,
    /// Null strings are written as empty ones (setting `compat.null_strings`).
    pub has_empty_strings: bool,
}

/// One record with its current download count.
pub struct RecordItem<'a> {
    /// Finished JSON up to and including `"downloads":`.
    pub fragment: &'a [u8],
    /// Upstream's downloads and those of this service.
    pub downloads: u64,
    /// Its catalog id; read only if the style has `imdb_id`.
    pub catalog_id: Option<CatalogId>,
}

/// Writes one record. Cost: a copy of the fragment.
pub fn write_record(out: &mut BytesMut, item: &RecordItem<'_>, style: RecordStyle) {
    write_item(out, item, style, b"}");
}

/// Writes one record and `end`, which closes it.
fn write_item<const N: usize>(
    out: &mut BytesMut,
    item: &RecordItem<'_>,
    style: RecordStyle,
    end: &[u8; N],
) {
    if style.has_empty_strings {
        write_without_nulls(out, item.fragment);
    } else {
        out.extend_from_slice(item.fragment);
    }
    out.extend_from_slice(itoa::Buffer::new().format(item.downloads).as_bytes());
    if style.has_imdb_id {
        out.extend_from_slice(br#","imdb_id":"#);
        match item.catalog_id {
            Some(catalog_id) => write_catalog_id(out, catalog_id),
            None => out.extend_from_slice(b"null"),
        }
    }
    out.extend_from_slice(end);
}

/// Writes the answer of a search: `{"items":[…],"total":N}`. No allocation but the growth of
/// `out`. Errors: those of the items.
pub fn write_list<'a, E>(
    out: &mut BytesMut,
    items: impl ExactSizeIterator<Item = Result<RecordItem<'a>, E>>,
    total: u64,
    style: RecordStyle,
) -> Result<(), E> {
    out.extend_from_slice(br#"{"items":["#);
    let mut left_count = items.len();
    for item in items {
        left_count -= 1;
        match left_count {
            0 => write_item(out, &item?, style, b"}"),
            _ => write_item(out, &item?, style, b"},"),
        }
    }
    out.extend_from_slice(br#"],"total":"#);
    out.extend_from_slice(itoa::Buffer::new().format(total).as_bytes());
    out.put_u8(b'}');
    Ok(())
}

fn write_catalog_id(out: &mut BytesMut, catalog_id: CatalogId) {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(catalog_id.number());
    out.extend_from_slice(b"\"tt");
    for _ in digits.len()..usize::from(catalog_id.digits_count()) {
        out.put_u8(b'0');
    }
    out.extend_from_slice(digits.as_bytes());
    out.put_u8(b'"');
}

/// The fields that `compat.null_strings` concerns: null, and empty. A quote inside a string is
/// escaped, so these bytes occur only where the field itself does.
const NULL_STRINGS: [(&[u8], &[u8]); 2] = [
    (br#","description":null"#, br#","description":"""#),
    (br#","uploader_name":null"#, br#","uploader_name":"""#),
];

fn write_without_nulls(out: &mut BytesMut, fragment: &[u8]) {
    let mut rest = fragment;
    for (null, empty) in NULL_STRINGS {
        let place = rest.windows(null.len()).position(|bytes| bytes == null);
        if let Some(place) = place {
            out.extend_from_slice(&rest[..place]);
            out.extend_from_slice(empty);
            rest = &rest[place + null.len()..];
        }
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: RecordStyle = RecordStyle {
        has_imdb_id: false,
        has_empty_strings: false,
    };

    fn item(catalog_id: Option<&str>) -> RecordItem<'static> {
        RecordItem {
            fragment: br#"{"id":"x","description":null,"uploader_name":null,"downloads":"#,
            downloads: 42,
            catalog_id: catalog_id.map(|text| CatalogId::parse(text).unwrap()),
        }
    }

    fn check(item: &RecordItem<'_>, style: RecordStyle, expected: &str) {
        let mut out = BytesMut::new();
        write_record(&mut out, item, style);
        assert_eq!(out, expected);
    }

    #[test]
    fn a_record_is_its_fragment_and_its_count() {
        let expected = r#"{"id":"x","description":null,"uploader_name":null,"downloads":42}"#;
        check(&item(None), PLAIN, expected);
    }

    #[test]
    fn imdb_id_is_the_last_field() {
        let style = RecordStyle {
            has_imdb_id: true,
            ..PLAIN
        };
        let head = r#"{"id":"x","description":null,"uploader_name":null,"downloads":42,"#;
        check(&item(None), style, &format!(r#"{head}"imdb_id":null}}"#));
        let with_zeros = format!(r#"{head}"imdb_id":"tt0012"}}"#);
        check(&item(Some("tt0012")), style, &with_zeros);
        let zero = format!(r#"{head}"imdb_id":"tt000"}}"#);
        check(&item(Some("tt000")), style, &zero);
    }

    #[test]
    fn null_strings_become_empty_ones_and_nothing_else_does() {
        let style = RecordStyle {
            has_empty_strings: true,
            ..PLAIN
        };
        let expected = r#"{"id":"x","description":"","uploader_name":"","downloads":42}"#;
        check(&item(None), style, expected);
        let tricky = RecordItem {
            fragment: br#"{"title":",\"description\":null","description":"a","uploader_name":null,"downloads":"#,
            ..item(None)
        };
        let expected = r#"{"title":",\"description\":null","description":"a","uploader_name":"","downloads":42}"#;
        check(&tricky, style, expected);
    }

    #[test]
    fn a_list_is_items_and_total() {
        let mut out = BytesMut::new();
        let items = [item(None), item(None)].into_iter().map(Ok::<_, ()>);
        write_list(&mut out, items, 7, PLAIN).unwrap();
        let one = r#"{"id":"x","description":null,"uploader_name":null,"downloads":42}"#;
        assert_eq!(out, format!(r#"{{"items":[{one},{one}],"total":7}}"#));
        let mut out = BytesMut::new();
        let none = std::iter::empty::<Result<RecordItem<'_>, ()>>();
        write_list(&mut out, none, 0, PLAIN).unwrap();
        assert_eq!(out, r#"{"items":[],"total":0}"#);
    }

    #[test]
    fn a_list_fits_into_its_frames() {
        let style = RecordStyle {
            has_imdb_id: true,
            ..PLAIN
        };
        for catalog_id in [None, Some("tt999999999999"), Some("tt1")] {
            let item = RecordItem {
                downloads: u64::MAX,
                ..item(catalog_id)
            };
            let bytes_max = item.fragment.len() + ITEM_FRAME_BYTES + LIST_FRAME_BYTES;
            let mut out = BytesMut::new();
            let items = std::iter::once(Ok::<_, ()>(item));
            write_list(&mut out, items, u64::MAX, style).unwrap();
            assert!(out.len() <= bytes_max, "{}", out.len());
        }
    }
}
