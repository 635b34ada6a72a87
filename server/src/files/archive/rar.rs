//! Rar archives of the versions 4 and 5, by the crate `rars`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use rars::{ArchiveReadOptions, ReadCancellation};

use super::entry::{ArchiveEntry, EntryKind, NamePage, clean_path, cut, name_text};
use super::error::ArchiveError;
use crate::limits::{
    ARCHIVE_ENTRIES_MAX, ARCHIVE_HEADER_BYTES_MAX, ARCHIVE_HEADERS_MAX, DECODER_BYTES_MAX,
    TEXT_BYTES_MAX, UNPACKED_BYTES_MAX, UNPACKING_TIME_MAX,
};

/// Directory of a rar archive.
#[derive(Debug, Default)]
pub(super) struct RarDirectory {
    pub(super) entries: Vec<ArchiveEntry>,
    /// Reason why the directory was not read.
    pub(super) fault: Option<ArchiveError>,
    archive: Option<Box<rars::Archive>>,
}

impl RarDirectory {
    /// Reads the headers.
    pub(super) fn read(content: &[u8]) -> Self {
        let options = ArchiveReadOptions::new()
            .with_max_header_count(ARCHIVE_HEADERS_MAX)
            .with_max_header_bytes(ARCHIVE_HEADER_BYTES_MAX);
        let read = contained(|| rars::ArchiveReader::read_with_options(content, options));
        let archive = match read {
            Ok(archive) => archive,
            Err(error) => {
                return Self {
                    fault: Some(directory_error(&error)),
                    ..Self::default()
                };
            }
        };
        let entries = archive.members().take(ARCHIVE_ENTRIES_MAX);
        Self {
            entries: entries.map(|member| entry_of(&member)).collect(),
            fault: directory_fault(&archive),
            archive: Some(Box::new(archive)),
        }
    }

    /// Unpacks a file, and in a solid archive the files before it.
    pub(super) fn unpack(&self, idx: usize) -> Result<Vec<u8>, ArchiveError> {
        let archive = self.archive.as_deref().ok_or(ArchiveError::Headers)?;
        let member = archive.members().nth(idx).ok_or(ArchiveError::Headers)?;
        if member.meta.is_encrypted {
            return Err(ArchiveError::Encrypted);
        }
        if member.meta.is_split_before || member.meta.is_split_after {
            return Err(ArchiveError::Volume);
        }
        if member.meta.unpacked_size > TEXT_BYTES_MAX {
            return Err(ArchiveError::OverBudget);
        }
        let unpacked =
            within_time(|cancellation| contained(|| unpack_member(archive, idx, cancellation)));
        let unpacked = unpacked.map_err(|error| unpacking_error(&error))?;
        if unpacked.len() as u64 == member.meta.unpacked_size {
            Ok(unpacked)
        } else {
            Err(ArchiveError::Content)
        }
    }
}

/// Reason why an archive cannot be used, though its headers can be read.
fn directory_fault(archive: &rars::Archive) -> Option<ArchiveError> {
    let is_volume = match archive {
        rars::Archive::Rar15To40(archive) => archive.main.is_volume(),
        rars::Archive::Rar50Plus(archive) => archive.main.is_volume(),
        _ => return Some(ArchiveError::Headers),
    };
    if is_volume {
        return Some(ArchiveError::Volume);
    }
    let has_more = archive.member_refs().nth(ARCHIVE_ENTRIES_MAX).is_some();
    has_more.then_some(ArchiveError::TooManyEntries)
}

fn entry_of(member: &rars::ArchiveMember) -> ArchiveEntry {
    let name = &member.meta.name;
    let path = match member.meta.family {
        rars::ArchiveFamily::Rar50Plus => String::from_utf8_lossy(cut(name)).into_owned(),
        // A name in Unicode has become UTF-8.
        _ => name_text(name, NamePage::Dos),
    };
    let kind = if member.meta.is_directory {
        EntryKind::Directory
    } else if member.meta.is_redirection {
        EntryKind::Link
    } else {
        EntryKind::File
    };
    ArchiveEntry {
        path: clean_path(&path),
        size_bytes: member.meta.unpacked_size,
        kind,
    }
}

fn unpack_member(
    archive: &rars::Archive,
    idx: usize,
    cancellation: &ReadCancellation,
) -> rars::Result<Vec<u8>> {
    let options = ArchiveReadOptions::new()
        .with_cancellation(cancellation)
        .with_max_total_output_bytes(UNPACKED_BYTES_MAX)
        .with_max_reader_workspace_bytes(DECODER_BYTES_MAX);
    let read = archive.read_member_at_with_options(idx, options)?;
    read.ok_or(rars::Error::TooShort)
}

/// Runs a decoder, and cancels it after its time limit.
fn within_time<T>(decode: impl FnOnce(&ReadCancellation) -> rars::Result<T>) -> rars::Result<T> {
    let cancellation = ReadCancellation::new();
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let watched = cancellation.clone();
        let watch = move || {
            if is_done.recv_timeout(UNPACKING_TIME_MAX) == Err(RecvTimeoutError::Timeout) {
                watched.cancel();
            }
        };
        // Without its watch a decoder does not start.
        thread::Builder::new()
            .name("unpacking-time".to_owned())
            .spawn_scoped(scope, watch)?;
        let decoded = decode(&cancellation);
        drop(done);
        decoded
    })
}

/// Runs the foreign decoder such that a panic in it costs one archive.
fn contained<T>(decode: impl FnOnce() -> rars::Result<T>) -> rars::Result<T> {
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or(Err(rars::Error::InvalidHeader("the decoder panicked")))
}

/// The error inside its context.
fn cause_of(mut error: &rars::Error) -> &rars::Error {
    while let rars::Error::AtArchiveOffset { source, .. }
    | rars::Error::AtEntry { source, .. }
    | rars::Error::InVolume { source, .. } = error
    {
        error = source;
    }
    error
}

fn directory_error(error: &rars::Error) -> ArchiveError {
    match cause_of(error) {
        rars::Error::HeaderCountLimitExceeded { .. }
        | rars::Error::HeaderBytesLimitExceeded { .. } => ArchiveError::TooManyEntries,
        rars::Error::NeedPassword | rars::Error::FeatureDisabled { .. } => ArchiveError::Encrypted,
        _ => ArchiveError::Headers,
    }
}

fn unpacking_error(error: &rars::Error) -> ArchiveError {
    match cause_of(error) {
        rars::Error::Cancelled
        | rars::Error::Io(_)
        | rars::Error::MemberOutputLimitExceeded { .. }
        | rars::Error::TotalOutputLimitExceeded { .. }
        | rars::Error::Rar50DictionaryLimitExceeded { .. }
        | rars::Error::Rar50FilterMemoryLimitExceeded { .. }
        | rars::Error::MemoryLimitExceeded { .. } => ArchiveError::OverBudget,
        rars::Error::NeedPassword | rars::Error::FeatureDisabled { .. } => ArchiveError::Encrypted,
        rars::Error::UnsupportedCompression { .. } | rars::Error::UnsupportedFeature { .. } => {
            ArchiveError::Method
        }
        _ => ArchiveError::Content,
    }
}
