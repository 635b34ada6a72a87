//! Records as JSON: finished fragments and current download counts, written into one buffer.

use bytes::{BufMut, BytesMut};
use subcat_engine::{CatalogId, Flag, FlagSet};

use super::body_tag::BodySum;

/// Maximum bytes of a list beside its items: names, brackets, the total.
pub const LIST_FRAME_BYTES: usize = 48;
/// Maximum bytes of an item beside its fragment: the count, `flags`, `imdb_id`, its end.
pub const ITEM_FRAME_BYTES: usize = 128;

/// Style of written items.
#[derive(Debug, Clone, Copy)]
pub struct RecordStyle {
    /// Each item ends with `imdb_id` (API.md, search).
    pub has_imdb_id: bool,
    /// Each item has `flags` after the fields of a record (API.md, search).
    pub has_flags: bool,
    /// Null strings are written as empty ones (setting `compat.null_strings`).
    pub has_empty_strings: bool,
}

/// One record with its current download count.
pub struct RecordItem<'a> {
    /// Finished JSON up to and including `"downloads":`.
    pub fragment: &'a [u8],
    /// Upstream's downloads and those of this service.
    pub downloads: u64,
    /// Catalog id; read only if the style has `imdb_id`.
    pub catalog_id: Option<CatalogId>,
    /// Flags that are true; read only if the style has `flags`.
    pub flags: FlagSet,
}

/// Writes one record, and adds it to the sum. Cost: a copy of the fragment, and its sum.
pub fn write_record(
    out: &mut BytesMut,
    item: &RecordItem<'_>,
    style: RecordStyle,
    sum: Option<&mut BodySum>,
) {
    write_item(out, item, style, b"}", sum);
}

/// Writes one record and `end`, which closes it; adds its fields but the count to the sum.
fn write_item<const N: usize>(
    out: &mut BytesMut,
    item: &RecordItem<'_>,
    style: RecordStyle,
    end: &[u8; N],
    mut sum: Option<&mut BodySum>,
) {
    let start = out.len();
    if style.has_empty_strings {
        write_without_nulls(out, item.fragment);
    } else {
        out.extend_from_slice(item.fragment);
    }
    if let Some(sum) = &mut sum {
        sum.add(&out[start..]);
    }
    out.extend_from_slice(itoa::Buffer::new().format(item.downloads).as_bytes());
    let after_count = out.len();
    if style.has_flags {
        write_flags(out, item.flags);
    }
    if style.has_imdb_id {
        out.extend_from_slice(br#","imdb_id":"#);
        match item.catalog_id {
            Some(catalog_id) => write_catalog_id(out, catalog_id),
            None => out.extend_from_slice(b"null"),
        }
    }
    if let Some(sum) = sum
        && after_count < out.len()
    {
        sum.add(&out[after_count..]);
    }
    out.extend_from_slice(end);
}

fn write_flags(out: &mut BytesMut, flags: FlagSet) {
    out.extend_from_slice(br#","flags":["#);
    for (idx, name) in flags.iter().map(Flag::as_str).enumerate() {
        let before: &[u8] = if idx == 0 { b"\"" } else { b",\"" };
        out.extend_from_slice(before);
        out.extend_from_slice(name.as_bytes());
        out.put_u8(b'"');
    }
    out.put_u8(b']');
}

/// Writes the answer of a search: `{"items":[…],"total":N}`, and adds what differs between answers
/// to the sum. No allocation but the growth of `out`. Errors: those of the items.
pub fn write_list<'a, E>(
    out: &mut BytesMut,
    items: impl ExactSizeIterator<Item = Result<RecordItem<'a>, E>>,
    total: u64,
    style: RecordStyle,
    mut sum: Option<&mut BodySum>,
) -> Result<(), E> {
    out.extend_from_slice(br#"{"items":["#);
    let mut left_count = items.len();
    for item in items {
        left_count -= 1;
        match left_count {
            0 => write_item(out, &item?, style, b"}", sum.as_deref_mut()),
            _ => write_item(out, &item?, style, b"},", sum.as_deref_mut()),
        }
    }
    let end = out.len();
    out.extend_from_slice(br#"],"total":"#);
    out.extend_from_slice(itoa::Buffer::new().format(total).as_bytes());
    out.put_u8(b'}');
    if let Some(sum) = sum {
        sum.add(&out[end..]);
    }
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
        has_flags: false,
        has_empty_strings: false,
    };

    fn item(catalog_id: Option<&str>) -> RecordItem<'static> {
        RecordItem {
            fragment: br#"{"id":"x","description":null,"uploader_name":null,"downloads":"#,
            downloads: 42,
            catalog_id: catalog_id.map(|text| CatalogId::parse(text).unwrap()),
            flags: FlagSet::default(),
        }
    }

    fn check(item: &RecordItem<'_>, style: RecordStyle, expected: &str) {
        let mut out = BytesMut::new();
        write_record(&mut out, item, style, None);
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
    fn flags_stand_before_imdb_id() {
        let style = RecordStyle {
            has_imdb_id: true,
            has_flags: true,
            ..PLAIN
        };
        let head = r#"{"id":"x","description":null,"uploader_name":null,"downloads":42,"#;
        let none = format!(r#"{head}"flags":[],"imdb_id":null}}"#);
        check(&item(None), style, &none);
        let mut flagged = item(None);
        flagged.flags = FlagSet::default()
            .with(Flag::MachineTranslated)
            .with(Flag::HearingImpaired);
        let flags = r#""flags":["hearing_impaired","machine_translated"],"imdb_id":null"#;
        check(&flagged, style, &format!("{head}{flags}}}"));
    }

    #[test]
    fn all_but_the_counts_is_in_the_sum() {
        let tag = |downloads: [u64; 2], catalog_id: Option<&str>, total: u64| {
            let style = RecordStyle {
                has_imdb_id: catalog_id.is_some(),
                ..PLAIN
            };
            let items = downloads.map(|downloads| {
                Ok::<_, ()>(RecordItem {
                    downloads,
                    ..item(catalog_id)
                })
            });
            let (mut out, mut sum) = (BytesMut::new(), BodySum::default());
            write_list(&mut out, items.into_iter(), total, style, Some(&mut sum)).unwrap();
            sum.tag()
        };
        let first = tag([1, 2], None, 2);
        assert_eq!(tag([11, 0], None, 2), first);
        assert_ne!(tag([1, 2], None, 3), first);
        assert_ne!(tag([1, 2], Some("tt1"), 2), first);
        assert_ne!(tag([1, 2], Some("tt2"), 2), tag([1, 2], Some("tt1"), 2));
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
        write_list(&mut out, items, 7, PLAIN, None).unwrap();
        let one = r#"{"id":"x","description":null,"uploader_name":null,"downloads":42}"#;
        assert_eq!(out, format!(r#"{{"items":[{one},{one}],"total":7}}"#));
        let mut out = BytesMut::new();
        let none = std::iter::empty::<Result<RecordItem<'_>, ()>>();
        write_list(&mut out, none, 0, PLAIN, None).unwrap();
        assert_eq!(out, r#"{"items":[],"total":0}"#);
    }

    #[test]
    fn a_list_fits_into_its_frames() {
        let style = RecordStyle {
            has_imdb_id: true,
            has_flags: true,
            ..PLAIN
        };
        for catalog_id in [None, Some("tt999999999999"), Some("tt1")] {
            let item = RecordItem {
                downloads: u64::MAX,
                flags: FlagSet::from_bits(7).unwrap(),
                ..item(catalog_id)
            };
            let bytes_max = item.fragment.len() + ITEM_FRAME_BYTES + LIST_FRAME_BYTES;
            let mut out = BytesMut::new();
            let items = std::iter::once(Ok::<_, ()>(item));
            write_list(&mut out, items, u64::MAX, style, None).unwrap();
            assert!(out.len() <= bytes_max, "{}", out.len());
        }
    }
}
