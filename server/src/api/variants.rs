//! Stored files, made ready to be sent: opened off the workers, compressed once.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use subcat_engine::{Blob, CachedFile, ContentHash, Engine, Error, Variant, error_chain};

use crate::cache::{OpenFile, UselessVariants};
use crate::limits::FILE_READ_BYTES_MAX;
use crate::runtime::{ControlHandle, Joined, SingleFlight, WorkKind, result_of};

/// Quality of brotli: a variant is made once, and its first client waits.
const BROTLI_QUALITY: u32 = 9;
const BROTLI_WINDOW_BITS: u32 = 22;
const BROTLI_BUFFER_BYTES: usize = 64 << 10;

/// A stored file cannot be made ready; the cause is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariantError {
    /// The blob is lost, damaged or unreadable. A lost one has been forgotten.
    Unusable,
    /// The blob is in object storage, which is not available now.
    Away,
}

/// Makes files ready on the control runtime, one work at a time per file and variant.
pub struct FileVariants {
    engine: Arc<Engine>,
    control: ControlHandle,
    flight: SingleFlight<(ContentHash, Variant), Result<Option<OpenFile>, VariantError>>,
    useless: Arc<Mutex<UselessVariants>>,
}

impl FileVariants {
    /// The files of an engine.
    pub fn new(engine: Arc<Engine>, control: ControlHandle) -> Self {
        Self {
            engine,
            control,
            flight: SingleFlight::new(),
            useless: Arc::default(),
        }
    }

    /// The file in one variant, made when it was not there; `None` when a compressed one would
    /// not be smaller. Errors: it is missing or damaged, or cannot be stored.
    pub async fn open(
        &self,
        file: &CachedFile,
        variant: Variant,
    ) -> Result<Option<OpenFile>, VariantError> {
        let subject = (file.content, variant);
        let work = || {
            let (engine, file) = (Arc::clone(&self.engine), file.clone());
            let useless = Arc::clone(&self.useless);
            let kind = match variant {
                Variant::Identity => WorkKind::Opening,
                Variant::Gzip | Variant::Brotli => WorkKind::Decoding,
            };
            let job = async move {
                let ready = make_ready(&engine, &file, variant).await;
                if let Ok(None) = ready {
                    useless.lock().insert(file.content, variant);
                }
                ready
            };
            let control = self.control.clone();
            async move {
                let ready = control.run_waiting(kind, job).await;
                ready.unwrap_or(Err(VariantError::Unusable))
            }
        };
        // A worker forgets it sooner, and other workers have not learned it.
        let known = || {
            let is_useless = self.useless.lock().contains(file.content, variant);
            is_useless.then_some(Ok(None))
        };
        match self.flight.join(&subject, &self.control, known, work) {
            Joined::Known(result) => result,
            Joined::Leader(outcome) | Joined::Follower(outcome) => {
                let ready = result_of(outcome).await;
                ready.unwrap_or(Err(VariantError::Unusable))
            }
        }
    }
}

async fn make_ready(
    engine: &Engine,
    file: &CachedFile,
    variant: Variant,
) -> Result<Option<OpenFile>, VariantError> {
    let status_and_body = |outcome: Result<Option<OpenFile>, std::io::Error>| {
        outcome.map_err(|error| {
            tracing::error!(%error, content = %file.content, "a stored file cannot be read");
            VariantError::Unusable
        })
    };
    let blob = stored(engine, file, variant).await?;
    if let Some(blob) = blob {
        return status_and_body(open(blob).map(Some));
    }
    let plain = stored(engine, file, Variant::Identity).await?;
    let plain = plain.ok_or(VariantError::Unusable)?;
    let compressed = read(&plain).and_then(|content| compress(&content, variant));
    let compressed = match compressed {
        Ok(compressed) if (compressed.len() as u64) < plain.size_bytes() => compressed,
        Ok(_) => return Ok(None),
        Err(error) => return status_and_body(Err(error)),
    };
    match engine
        .files()
        .store_variant(&file.content, variant, &compressed)
    {
        Ok(blob) => status_and_body(open(blob).map(Some)),
        Err(error) => {
            // It is derived: even if it cannot be stored, it can be sent.
            tracing::warn!(%error, content = %file.content, "a variant cannot be stored");
            Ok(Some(OpenFile::Read(compressed.into())))
        }
    }
}

/// Opens a stored file; `None` when the variant has not been made. The task waits for one that is
/// in object storage. What turns out to be lost or damaged is forgotten, such that it is fetched
/// again (API.md 7.2).
pub(super) async fn stored(
    engine: &Engine,
    file: &CachedFile,
    variant: Variant,
) -> Result<Option<Arc<Blob>>, VariantError> {
    let error = match engine.files().fetch_blob(file, variant).await {
        Ok(opened) => return Ok(opened),
        Err(error) => error,
    };
    let text = error_chain(&error);
    tracing::error!(error = text, content = %file.content, "a stored file cannot be opened");
    if matches!(error, Error::Corrupt { .. })
        && let Err(error) = engine.files().forget_content(file.content).await
    {
        tracing::error!(%error, content = %file.content, "a lost file cannot be forgotten");
    }
    Err(match error {
        Error::Source { .. } => VariantError::Away,
        _ => VariantError::Unusable,
    })
}

fn open(blob: Arc<Blob>) -> std::io::Result<OpenFile> {
    if blob.size_bytes() <= FILE_READ_BYTES_MAX {
        return read(&blob).map(OpenFile::Read);
    }
    Ok(OpenFile::Mapped(blob))
}

/// Reads a whole file; the mapping is not touched, so a file that was cut is an error.
pub(super) fn read(blob: &Blob) -> std::io::Result<Bytes> {
    let size_bytes = usize::try_from(blob.size_bytes())
        .map_err(|_| std::io::Error::from(std::io::ErrorKind::FileTooLarge))?;
    let mut content = vec![0; size_bytes];
    let filled = blob.file().read_exact_at(&mut content, 0);
    filled.inspect_err(|_| blob.mark_truncated())?;
    Ok(content.into())
}

/// Compresses `content`. Cost: about a millisecond for 20 KB.
pub fn compress(content: &[u8], variant: Variant) -> std::io::Result<Vec<u8>> {
    match variant {
        Variant::Identity => Ok(content.to_vec()),
        Variant::Gzip => {
            let best = flate2::Compression::best();
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), best);
            encoder.write_all(content)?;
            encoder.finish()
        }
        Variant::Brotli => {
            let mut compressed = Vec::new();
            let mut encoder = brotli::CompressorWriter::new(
                &mut compressed,
                BROTLI_BUFFER_BYTES,
                BROTLI_QUALITY,
                BROTLI_WINDOW_BITS,
            );
            encoder.write_all(content)?;
            encoder.flush()?;
            drop(encoder);
            Ok(compressed)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use subcat_engine::{FileFacts, FileKind, NodeId, Options, Real, ReleaseId, StoreKind};

    use super::*;
    use crate::runtime::Control;

    /// A compressed file that is not smaller: to try again, after each worker and each eviction,
    /// would cost as much as to make a variant.
    #[test]
    fn a_variant_that_is_not_worth_making_is_tried_once() {
        let control = Control::start().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            disk: Arc::new(Real),
            store: StoreKind::Redb,
            counter_lanes: 0,
            node: NodeId(1),
        };
        let engine = Arc::new(Engine::open(dir.path(), options).unwrap());
        let release = ReleaseId::parse("1").unwrap();
        let facts = FileFacts {
            kind: FileKind::Srt,
            upstream_name: None,
            refetch_at: None,
            replaces: None,
        };
        let file = engine.files().store_fetched(&release, b"x", facts).unwrap();
        let variants = FileVariants::new(Arc::clone(&engine), control.handle());
        let open = |variant| control.block_on(variants.open(&file, variant));
        for variant in [Variant::Gzip, Variant::Brotli] {
            assert!(matches!(open(variant), Ok(None)));
        }
        // A second look at the content would find that it is gone.
        let name = file.content.to_string();
        let path = dir.path().join("blobs").join(&name[..2]).join(&name);
        std::fs::write(path, "").unwrap();
        assert!(open(Variant::Identity).is_err());
        for variant in [Variant::Gzip, Variant::Brotli] {
            assert!(matches!(open(variant), Ok(None)), "it was tried again");
        }
    }

    #[test]
    fn variants_unpack_to_the_same_bytes() {
        let content = "1\n00:00:01,000 --> 00:00:02,000\n¿Qué?\n\n".repeat(500);
        let gzip = compress(content.as_bytes(), Variant::Gzip).unwrap();
        let mut unpacked = String::new();
        flate2::read::GzDecoder::new(gzip.as_slice())
            .read_to_string(&mut unpacked)
            .unwrap();
        assert_eq!(unpacked, content);
        let brotli = compress(content.as_bytes(), Variant::Brotli).unwrap();
        let mut unpacked = String::new();
        brotli::Decompressor::new(brotli.as_slice(), 4096)
            .read_to_string(&mut unpacked)
            .unwrap();
        assert_eq!(unpacked, content);
        assert!(gzip.len() < content.len());
        assert!(brotli.len() < content.len());
    }
}
