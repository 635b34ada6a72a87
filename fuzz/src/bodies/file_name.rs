//! Names of files in headers, and kinds of files by their content.

use subcat_engine::{FileKind, FileName};
use subcat_server::files::{clean_name, content_disposition, kind_of, served_name, upstream_name};

use crate::choices::Choices;
use crate::records::record_id;

/// A name is served clean, in a header of printable ASCII, and reads back as it was.
pub fn file_name(data: &[u8]) {
    let (choice, rest) = data.split_at(data.len().min(3));
    let mut choices = Choices::from_bytes(choice);
    let kind = choices.pick(&FileKind::ALL);
    let id = record_id(&mut choices);
    let name = String::from_utf8_lossy(rest);
    // Reading what upstream sends must not fail either, whatever it sends.
    upstream_name(Some(rest), &name);
    let served = served_name(Some(&name), None, id, kind);
    assert_eq!(
        clean_name(&served).as_deref(),
        Some(served.as_str()),
        "{name:?}"
    );
    let named = served
        .rsplit_once('.')
        .and_then(|(_, end)| FileKind::of_extension(end));
    let is_fitting = named.is_some_and(|named| named == kind || named.is_text() && kind.is_text());
    assert!(is_fitting, "{name:?} became {served:?} for {kind:?}");
    let header = content_disposition(&served);
    assert!(
        header.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
        "{header:?}"
    );
    assert!(!header.contains('\\'), "{header:?}");
    assert_eq!(header.matches('"').count(), 2, "{header:?}");
    // A longer name than a record may have is read from its ASCII form, if that is short enough.
    if FileName::parse(&served).is_some() {
        let read = upstream_name(Some(header.as_bytes()), "");
        assert_eq!(read.as_ref().map(FileName::as_str), Some(served.as_str()));
    }
}

/// Archives are recognised by their first bytes whatever the name says; content that is refused
/// without a name is refused with every name.
pub fn file_kind(data: &[u8]) {
    let nameless = kind_of(data, None);
    for named in FileKind::ALL {
        let kind = kind_of(data, Some(named));
        assert_eq!(kind.is_some(), nameless.is_some(), "{named:?}");
        let is_text = |kind: Option<FileKind>| kind.is_some_and(FileKind::is_text);
        assert_eq!(is_text(kind), is_text(nameless), "{named:?}");
        if !is_text(kind) {
            assert_eq!(kind, nameless, "{named:?}");
        }
    }
    let is_zip = data.starts_with(b"PK\x03\x04") || data.starts_with(b"PK\x05\x06");
    assert!(!is_zip || nameless == Some(FileKind::Zip));
    assert!(!data.starts_with(b"Rar!\x1A\x07\x00") || nameless == Some(FileKind::Rar));
}
