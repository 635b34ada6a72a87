//! Texts out of stored files: chosen, unpacked, decoded and converted once, then stored like any
//! other file.
//!
//! A result is stored under an identifier derived from its source and the request: every worker
//! finds it again, also after a restart, and on other nodes.

use std::sync::Arc;

use bytes::Bytes;
use subcat_engine::{
    Blob, CachedFile, ChoiceRecord, ContentHash, Engine, FileFacts, FileKind, Number, Record,
    RecordId, ReleaseId, TextCandidate, TextRequest, Timestamp, Variant, VideoType, choose_text,
    error_chain, listed_numbers,
};
use tokio::sync::Semaphore;

use super::variants::{VariantError, read, stored};
use crate::files::{
    Archive, archive_texts, clean_name, convert, converted_name, decode_text, unpack_text,
};
use crate::limits::DECODERS_MAX;
use crate::request::{TextDownload, TextEncoding, TextFormat};
use crate::respond::ListedText;
use crate::runtime::{ControlHandle, Joined, SingleFlight, WorkKind, result_of};

/// A text, ready to be sent.
#[derive(Debug, Clone)]
pub(super) struct MadeText {
    /// The stored content.
    pub(super) file: CachedFile,
    /// The cleaned name.
    pub(super) name: String,
    /// Value of `Content-Type`.
    pub(super) content_type: &'static str,
}

/// Reason why there is no text (API.md 17.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextError {
    /// The record no longer exists.
    RecordNotFound,
    /// No text is meant, or several are.
    NotInArchive,
    /// The archive or its text cannot be read.
    Extraction,
    /// The text cannot be converted.
    Conversion,
    /// The stored file cannot be opened.
    Stored(VariantError),
    /// The record cannot be read, or the text not be stored; the cause is in the log.
    Internal,
}

/// The stored file of a record.
#[derive(Debug, Clone)]
pub(super) struct TextSource {
    pub(super) id: RecordId,
    pub(super) file: CachedFile,
    /// Name of the file for the client.
    pub(super) name: String,
}

/// Subject of a flight: an archive or text by its hash, the record that chooses from it, and the
/// query string.
type FlightKey = (ContentHash, RecordId, Arc<str>);

/// Makes texts on the control runtime, one work at a time for the same request.
pub struct TextFiles {
    engine: Arc<Engine>,
    control: ControlHandle,
    flight: SingleFlight<FlightKey, Result<MadeText, TextError>>,
    /// Permits for decoders: others wait.
    decoders: Arc<Semaphore>,
}

impl TextFiles {
    /// The texts of an engine's files.
    pub fn new(engine: Arc<Engine>, control: ControlHandle) -> Self {
        Self {
            engine,
            control,
            flight: SingleFlight::new(),
            decoders: Arc::new(Semaphore::new(DECODERS_MAX)),
        }
    }

    /// The text that a request means, made when it was not there. `query` is the query string that
    /// `wanted` was read from.
    pub(super) async fn open(
        &self,
        source: TextSource,
        query: Arc<str>,
        wanted: Arc<TextDownload>,
    ) -> Result<MadeText, TextError> {
        let subject = (source.file.content, source.id, query);
        let work = || {
            let making = self.decode(source, move |open| open.make(&wanted));
            let (engine, control) = (Arc::clone(&self.engine), self.control.clone());
            async move {
                match making.await? {
                    Making::Made(text) => Ok(text),
                    Making::Unstored(text) => {
                        let stored = control.run_waiting(WorkKind::Storing, store(engine, text));
                        stored.await.unwrap_or(Err(TextError::Internal))
                    }
                }
            }
        };
        match self.flight.join(&subject, &self.control, || None, work) {
            Joined::Known(result) => result,
            Joined::Leader(outcome) | Joined::Follower(outcome) => {
                let made = result_of(outcome).await;
                made.unwrap_or(Err(TextError::Internal))
            }
        }
    }

    /// The texts of a stored file, with season and episode for records of episodes.
    pub(super) async fn list(&self, source: TextSource) -> Result<Vec<ListedText>, TextError> {
        self.decode(source, OpenSource::list).await
    }

    /// Runs work on a source on a blocking thread, once it is here and a decoder's permit is free:
    /// a source that comes from object storage keeps no decoder from others, and one that waits for
    /// a decoder no descriptor.
    fn decode<T: Send + 'static>(
        &self,
        source: TextSource,
        work: impl FnOnce(&OpenSource) -> Result<T, TextError> + Send + 'static,
    ) -> impl Future<Output = Result<T, TextError>> + Send + 'static {
        let (engine, control) = (Arc::clone(&self.engine), self.control.clone());
        let decoders = Arc::clone(&self.decoders);
        let job = async move {
            drop(opened(&engine, &source.file).await?);
            let permit = decoders.acquire_owned().await;
            let _decoding = permit.map_err(|_| TextError::Internal)?;
            let blob = opened(&engine, &source.file).await?;
            work(&OpenSource::read(engine, source, &blob)?)
        };
        async move {
            let done = control.run_waiting(WorkKind::Decoding, job).await;
            done.unwrap_or(Err(TextError::Internal))
        }
    }
}

/// A text that a request can choose.
struct SourceText<'a> {
    path: &'a str,
    size_bytes: u64,
    /// Place in the archive; none for a stored text.
    entry_idx: Option<usize>,
}

async fn opened(engine: &Engine, file: &CachedFile) -> Result<Arc<Blob>, TextError> {
    let blob = stored(engine, file, Variant::Identity).await;
    let blob = blob.map_err(TextError::Stored)?;
    blob.ok_or(TextError::Stored(VariantError::Unusable))
}

/// A source with its stored content and its record.
struct OpenSource {
    engine: Arc<Engine>,
    source: TextSource,
    record: Record,
    content: Bytes,
}

impl OpenSource {
    fn read(engine: Arc<Engine>, source: TextSource, blob: &Blob) -> Result<Self, TextError> {
        let record = engine
            .catalog()
            .stored_record(source.id)
            .map_err(|error| internal(&error))?;
        let record = record.ok_or(TextError::RecordNotFound)?;
        let content = read(blob).map_err(|error| {
            tracing::error!(%error, content = %source.file.content, "a stored file cannot be read");
            TextError::Stored(VariantError::Unusable)
        })?;
        Ok(Self {
            engine,
            source,
            record,
            content,
        })
    }

    fn archive(&self) -> Option<Archive<'_>> {
        Archive::read(&self.content, self.source.file.kind)
    }

    /// Makes the text that a request means.
    fn make(&self, wanted: &TextDownload) -> Result<Making, TextError> {
        let source = &self.source;
        let archive = self.archive();
        let texts = texts(source, archive.as_ref())?;
        let text = chosen(&texts, wanted, &self.record).ok_or(TextError::NotInArchive)?;
        let name = text_name(text.path, wanted).ok_or(TextError::NotInArchive)?;
        let made = |file: CachedFile| MadeText {
            file: CachedFile {
                // A result is due for a refetch when its source is.
                refetch_at: source.file.refetch_at,
                ..file
            },
            name: name.clone(),
            content_type: content_type(wanted.format),
        };
        if text.entry_idx.is_none() && wanted.encoding.is_none() {
            return Ok(Making::Made(made(source.file.clone())));
        }
        let language = self.record.language.primary();
        let release = made_release(source, text.entry_idx, wanted, &language);
        let release = release.ok_or(TextError::Internal)?;
        let files = self.engine.files();
        if let Some(known) = files.cached_file(&release)
            && files.has_content(known.content)
        {
            return Ok(Making::Made(made(known)));
        }
        let unpacked = match (&archive, text.entry_idx) {
            (Some(archive), Some(idx)) => {
                let unpacked = unpack_text(archive, idx);
                unpacked.map_err(|error| extraction(source, error))?.into()
            }
            _ => self.content.clone(),
        };
        let content = match wanted.encoding {
            Some(encoding) => encoded(&unpacked, &language, encoding, wanted.format)?.into(),
            None => unpacked,
        };
        // What changes nothing is not stored under another name.
        if text.entry_idx.is_none() && wanted.format.is_none() && content == self.content {
            return Ok(Making::Made(made(source.file.clone())));
        }
        Ok(Making::Unstored(UnstoredText {
            release,
            content,
            refetch_at: source.file.refetch_at,
            content_type: content_type(wanted.format),
            name,
        }))
    }

    /// Lists the texts.
    fn list(&self) -> Result<Vec<ListedText>, TextError> {
        let archive = self.archive();
        let texts = texts(&self.source, archive.as_ref())?;
        let paths: Vec<&str> = texts.iter().map(|text| text.path).collect();
        let record_season = self.record.season.map(Number::get);
        let numbers = listed_numbers(&paths, record_season);
        let is_episode = self.record.video_type == VideoType::Episode;
        let listed = texts.iter().zip(numbers).map(|(text, numbers)| ListedText {
            name: text.path.to_owned(),
            size_bytes: text.size_bytes,
            season: numbers.season.filter(|_| is_episode),
            episode: numbers.episode.filter(|_| is_episode),
        });
        Ok(listed.collect())
    }
}

/// The texts of an archive, or the stored text alone.
fn texts<'a>(
    source: &'a TextSource,
    archive: Option<&'a Archive<'_>>,
) -> Result<Vec<SourceText<'a>>, TextError> {
    let Some(archive) = archive else {
        return Ok(vec![SourceText {
            path: &source.name,
            size_bytes: source.file.size_bytes,
            entry_idx: None,
        }]);
    };
    let texts = archive_texts(archive).map_err(|error| extraction(source, error))?;
    let texts = texts.into_iter().map(|text| SourceText {
        path: text.path,
        size_bytes: text.size_bytes,
        entry_idx: Some(text.entry_idx),
    });
    Ok(texts.collect())
}

/// A text that a request means.
enum Making {
    /// It is stored.
    Made(MadeText),
    /// It was just made.
    Unstored(UnstoredText),
}

/// A text that was just made.
struct UnstoredText {
    release: ReleaseId,
    content: Bytes,
    /// The cleaned name.
    name: String,
    /// Of its source: the text is due for a refetch when that is.
    refetch_at: Option<Timestamp>,
    content_type: &'static str,
}

/// Stores a text that was just made.
async fn store(engine: Arc<Engine>, text: UnstoredText) -> Result<MadeText, TextError> {
    let files = engine.files();
    let facts = FileFacts {
        kind: text_kind(&text.name),
        upstream_name: None,
        refetch_at: None,
        replaces: files.cached_file(&text.release).map(|file| file.content),
    };
    let stored = files.submit_fetched(&text.release, text.content, facts);
    let file = stored.await.map_err(|error| internal(&error))?;
    Ok(MadeText {
        file: CachedFile {
            refetch_at: text.refetch_at,
            ..file
        },
        name: text.name,
        content_type: text.content_type,
    })
}

/// The text that a request means.
fn chosen<'a, 't>(
    texts: &'t [SourceText<'a>],
    wanted: &TextDownload,
    record: &Record,
) -> Option<&'t SourceText<'a>> {
    let candidates: Vec<TextCandidate<'_>> = texts
        .iter()
        .map(|text| TextCandidate {
            path: text.path,
            size_bytes: text.size_bytes,
        })
        .collect();
    let request = TextRequest {
        file: wanted.file.clone(),
        season: wanted.season,
        episode: wanted.episode,
        release: wanted.release.clone(),
    };
    let idx = choose_text(&candidates, &request, &ChoiceRecord::of(record))?;
    texts.get(idx)
}

/// The name of the answer: that of the text without directories, with the ending of its format.
fn text_name(path: &str, wanted: &TextDownload) -> Option<String> {
    let name = clean_name(path)?;
    Some(match wanted.format {
        Some(format) => converted_name(&name, format.extension()),
        None => name,
    })
}

/// The content in UTF-8, and in another format if one is wanted.
fn encoded(
    content: &[u8],
    language: &str,
    encoding: TextEncoding,
    format: Option<TextFormat>,
) -> Result<Vec<u8>, TextError> {
    let mut text = decode_text(content, language);
    if let Some(format) = format {
        text = convert(&text, format).map_err(|_| TextError::Conversion)?;
    }
    let mark: &[u8] = match encoding {
        TextEncoding::Utf8 => b"",
        TextEncoding::Utf8Bom => b"\xEF\xBB\xBF",
    };
    Ok([mark, text.as_bytes()].concat())
}

/// The identifier of a text that was made from a file.
fn made_release(
    source: &TextSource,
    entry_idx: Option<usize>,
    wanted: &TextDownload,
    language: &str,
) -> Option<ReleaseId> {
    let content = source.file.content;
    let entry = entry_idx.map_or("all".to_owned(), |idx| idx.to_string());
    // The language chooses the code page.
    let characters = match wanted.encoding {
        Some(encoding) => format!("{}.{language}", encoding.as_str()),
        None => "stored".to_owned(),
    };
    let format = wanted.format.map_or("same", TextFormat::extension);
    ReleaseId::of_made_text(content, &format!("{entry}.{characters}.{format}"))
}

const fn content_type(format: Option<TextFormat>) -> &'static str {
    match format {
        Some(TextFormat::Srt) => "application/x-subrip; charset=utf-8",
        Some(TextFormat::Vtt) => "text/vtt; charset=utf-8",
        None => "application/octet-stream",
    }
}

/// The kind of a text by its name: texts of other kinds are sent as `SubRip` is.
fn text_kind(name: &str) -> FileKind {
    let named = crate::files::named_kind(name).filter(|kind| kind.is_text());
    named.unwrap_or(FileKind::Srt)
}

fn internal(error: &subcat_engine::Error) -> TextError {
    let error = error_chain(error);
    tracing::error!(error, "a text cannot be made");
    TextError::Internal
}

fn extraction(source: &TextSource, error: crate::files::ArchiveError) -> TextError {
    tracing::debug!(%error, content = %source.file.content, "a text cannot be extracted");
    TextError::Extraction
}

#[cfg(test)]
mod tests {
    use subcat_engine::{NodeId, Options, Real, StoreKind, block_on};

    use super::*;
    use crate::runtime::Control;

    /// Files of one content each, kept open by the engine or not.
    const FILES_COUNT: usize = 200;

    /// Files below a directory that this process has open.
    fn open_files(dir: &std::path::Path) -> usize {
        let open = std::fs::read_dir("/proc/self/fd").unwrap();
        let links = open.flatten().map(|fd| std::fs::read_link(fd.path()));
        links.flatten().filter(|link| link.starts_with(dir)).count()
    }

    #[test]
    fn texts_that_wait_for_a_decoder_hold_no_descriptor() {
        let control = Control::start().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            disk: Arc::new(Real),
            store: StoreKind::Redb,
            counter_lanes: 0,
            node: NodeId(1),
        };
        let engine = Arc::new(Engine::open(dir.path(), options).unwrap());
        engine.files().keep_open(1);
        let source = |number: usize| {
            let release = ReleaseId::parse(&number.to_string()).unwrap();
            let content = format!("content {number}");
            let files = engine.files();
            let stored = files.store_file(&release, content.as_bytes(), FileKind::Srt, None);
            TextSource {
                id: RecordId::from_bytes([1; 16]),
                file: stored.unwrap(),
                name: "x.srt".to_owned(),
            }
        };
        let sources: Vec<TextSource> = (0..FILES_COUNT).map(source).collect();
        let texts = TextFiles::new(Arc::clone(&engine), control.handle());
        let decoders = Arc::clone(&texts.decoders).acquire_many_owned(DECODERS_MAX as u32);
        let decoders = block_on(decoders).unwrap();
        let waiting: Vec<_> = sources
            .into_iter()
            .map(|source| control.handle().spawn(texts.decode(source, |_| Ok(()))))
            .collect();
        // Behind these, most have begun to wait.
        for _ in 0..10 {
            let probe = control.handle();
            control
                .block_on(probe.run(WorkKind::Decoding, || ()))
                .unwrap();
        }
        let open_count = open_files(dir.path());
        assert!(open_count < FILES_COUNT / 2, "{open_count} are open");
        drop(decoders);
        for text in waiting {
            let outcome = control.block_on(text).unwrap();
            assert_eq!(
                outcome,
                Err(TextError::RecordNotFound),
                "there is no record"
            );
        }
    }
}
