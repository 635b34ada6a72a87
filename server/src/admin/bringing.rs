//! Files that an import brings to a running server: the command reads them, the server gets bytes.

use std::io;
use std::sync::Arc;

use subcat_engine::{BROUGHT_FILES_MAX, BroughtFile, FileKind, ReleaseId};

use super::import_frames::{BroughtHeader, FrameReader};
use crate::limits::{BROUGHT_BATCH_BYTES, BROUGHT_BYTES_MAX};
use crate::runtime::PieceReader;
use crate::service::Service;

/// Files that could not be stored.
#[derive(Debug, thiserror::Error)]
pub(super) enum BringingError {
    /// The body is not one of files.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A release or a kind is not valid: subcat did not write this body.
    #[error("{0} is not the file of a release")]
    Header(String),
    /// They could not be stored.
    #[error(transparent)]
    Engine(#[from] subcat_engine::Error),
}

/// A file of the body.
struct ReceivedFile {
    release: ReleaseId,
    kind: FileKind,
    content: Vec<u8>,
}

/// Stores the files in a body, in batches. Returns their number. Blocks the thread that polls for
/// the client and the disk; waits for other machines as a task.
pub(super) async fn bring_all(
    service: &Arc<Service>,
    frames: &mut FrameReader<PieceReader>,
) -> Result<u64, BringingError> {
    let (mut batch, mut batch_bytes, mut count) = (Vec::new(), 0, 0);
    while let Some((header, content)) = frames.next_brought(BROUGHT_BYTES_MAX)? {
        batch_bytes += content.len();
        batch.push(received(&header, content)?);
        count += 1;
        if batch.len() == BROUGHT_FILES_MAX || BROUGHT_BATCH_BYTES <= batch_bytes {
            bring(service, &batch).await?;
            batch.clear();
            batch_bytes = 0;
        }
    }
    bring(service, &batch).await?;
    Ok(count)
}

fn received(header: &BroughtHeader, content: Vec<u8>) -> Result<ReceivedFile, BringingError> {
    let release = ReleaseId::parse(&header.release);
    let kind = FileKind::of_extension(&header.kind);
    match (release, kind) {
        (Some(release), Some(kind)) => Ok(ReceivedFile {
            release,
            kind,
            content,
        }),
        _ => Err(BringingError::Header(header.release.clone())),
    }
}

async fn bring(service: &Arc<Service>, batch: &[ReceivedFile]) -> subcat_engine::Result<()> {
    let files: Vec<BroughtFile<'_>> = batch
        .iter()
        .map(|file| BroughtFile {
            release: &file.release,
            content: &file.content,
            kind: file.kind,
        })
        .collect();
    service.engine.files().bring(&files).await
}
