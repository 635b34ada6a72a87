//! A look into the file of a record: its first cues, or the files in its archive, and the first
//! cues of one of them. It is fetched and stored as for a download, and counts as none.

use std::sync::Arc;

use askama::Template;
use http::StatusCode;
use subcat_engine::{
    CachedFile, Doc, Error, FileKind, LanguageTerm, RecordId, ReleaseId, Snapshot, Variant,
    listed_numbers,
};

use super::record_view::RecordView;
use crate::api::open_file;
use crate::cache::OpenFile;
use crate::files::{CueLook, NamedSize, NamesLook, archive_cues, archive_names, first_cues};
use crate::limits::{LOOK_CUES_MAX, LOOK_LINKS_BYTES_MAX, RECORD_CUES_MAX};
use crate::runtime::WorkKind;
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::error::PageError;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::params;
use crate::web::frame::title_text::episode_number;
use crate::web::frame::web_request::WebRequest;

#[derive(Template)]
#[template(path = "catalog/look.html")]
struct LookPage {
    page: Frame,
    hit: RecordView,
    cues: Vec<CueLook>,
    files: Vec<FileInArchive>,
    /// True if the archive has more files.
    is_cut: bool,
    is_archive: bool,
    /// The text of an archive that is shown.
    shown: Option<FileInArchive>,
}

/// A shown file of an archive.
#[derive(Clone)]
struct FileInArchive {
    name: String,
    size_bytes: u64,
    /// Season and episode that its path tells of a text, such as `S01E02`; else nothing.
    episode_number: String,
    /// Number of its look; `None` if it is not a text.
    text_number: Option<usize>,
    /// The parameter `file` of its downloads; empty if it is not a text, or the page is long.
    query: String,
}

impl FileInArchive {
    fn new(number: usize, file: &NamedSize) -> Self {
        let path = file.text_path.as_deref();
        Self {
            name: file.name.clone(),
            size_bytes: file.size_bytes,
            episode_number: String::new(),
            text_number: path.map(|_| number),
            query: path.map_or(String::new(), |path| {
                format!("file={}", params::encode(path))
            }),
        }
    }
}

/// The file of a record, for the first cues on the page of the record. It is opened when they are
/// read: what waits for a decoder holds no descriptor.
pub(super) struct StoredFile {
    file: CachedFile,
    /// Primary language of the record; empty if it is not known.
    language: String,
}

impl StoredFile {
    /// The file, if it was fetched before.
    pub(super) fn of(
        request: &WebRequest,
        snapshot: &Snapshot,
        doc: &Doc<'_>,
    ) -> Result<Option<Self>, PageError> {
        let files = request.site.service.engine.files();
        let release = doc.source_release_id().and_then(ReleaseId::parse);
        let Some(file) = release.and_then(|release| files.cached_file(&release)) else {
            return Ok(None);
        };
        let language = snapshot.language_of(doc)?;
        Ok(Some(Self {
            file,
            language: language.map_or(String::new(), LanguageTerm::primary),
        }))
    }

    pub(super) fn is_archive(&self) -> bool {
        !self.file.kind.is_text()
    }

    /// The first cues of the text, or of the only text of the archive; none if there is no such
    /// text, or the file is not here or cannot be read.
    pub(super) fn first_cues(&self, request: &WebRequest) -> Vec<CueLook> {
        let files = request.site.service.engine.files();
        let Ok(Some(blob)) = files.blob(&self.file, Variant::Identity) else {
            return Vec::new();
        };
        let (content, kind, language) = (blob.bytes(), self.file.kind, self.language.as_str());
        if !self.is_archive() {
            return first_cues(content, kind, language, RECORD_CUES_MAX);
        }
        let look = archive_names(content, kind);
        let path = only_text(&look).and_then(|number| look.files[number].text_path.as_deref());
        let cues =
            path.and_then(|path| archive_cues(content, kind, path, language, RECORD_CUES_MAX));
        cues.unwrap_or_default()
    }
}

/// `GET /catalog/{id}/look`; `text` is the number of a text in the list of its archive.
pub(crate) async fn show(request: &Arc<WebRequest>, id: &str) -> PageResult {
    request.reader()?;
    let id = RecordId::parse(id).ok_or(PageError::NotFound)?;
    let (file, open) = opened(request, id).await?;
    // It is opened again: what waits for a decoder holds no descriptor.
    drop(open);
    // As many unpack at once as decoders may.
    let looked = request.blocking(WorkKind::Decoding, move |request| {
        let files = request.site.service.engine.files();
        match files.blob(&file, Variant::Identity) {
            Ok(Some(blob)) => look_page(request, id, file.kind, blob.bytes()).map(Some),
            Ok(None) | Err(Error::Corrupt { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    });
    if let Some(page) = looked.await? {
        return Ok(page);
    }
    // Evicted or lost while it waited: it is fetched again, and stays open.
    let (file, open) = opened(request, id).await?;
    request
        .blocking(WorkKind::Decoding, move |request| {
            look_page(request, id, file.kind, open.bytes())
        })
        .await
}

/// The file of a record, fetched if it is not here.
async fn opened(request: &WebRequest, id: RecordId) -> Result<(CachedFile, OpenFile), PageError> {
    let site = &request.site;
    let opened = open_file(&site.service, &site.files.variants, id).await;
    opened.map_err(|error| PageError::File(error.into()))
}

fn look_page(request: &WebRequest, id: RecordId, kind: FileKind, content: &[u8]) -> PageResult {
    let snapshot = request.site.service.engine.catalog().snapshot();
    let doc = snapshot.doc(id)?.ok_or(PageError::NotFound)?;
    let hit = RecordView::new(request, &snapshot, &doc)?;
    let language = snapshot.language_of(&doc)?;
    let language = language.map_or(String::new(), LanguageTerm::primary);
    snapshot.ensure_not_truncated()?;
    let look = archive_names(content, kind);
    let text = shown_text(request.query.get("text"), &look)?;
    let NamesLook { files, is_cut } = look;
    let path = text.and_then(|number| files[number].text_path.as_deref());
    let cues = match path {
        Some(path) => archive_cues(content, kind, path, &language, LOOK_CUES_MAX),
        None => Some(first_cues(content, kind, &language, LOOK_CUES_MAX)),
    };
    let shown = text.map(|number| FileInArchive::new(number, &files[number]));
    let mut listed = listed(&files);
    // What a path tells may follow from the others: it is told of a whole list only.
    if hit.is_episode() && !is_cut {
        number_texts(&mut listed, &files, hit.record.season);
    }
    let template = LookPage {
        page: request.frame("/catalog"),
        hit: hit.shortened(),
        cues: cues.ok_or(PageError::NotFound)?,
        files: listed,
        is_cut,
        is_archive: !kind.is_text(),
        shown,
    };
    answer::page(StatusCode::OK, &template)
}

/// Number of the text of an archive that is shown: the one that is asked for, else the only one.
/// Errors: there is no such text.
fn shown_text(asked: &str, look: &NamesLook) -> Result<Option<usize>, PageError> {
    let file = |number: usize| look.files.get(number);
    let is_text = |number: &usize| file(*number).is_some_and(|it| it.text_path.is_some());
    if !asked.is_empty() {
        let number = asked.parse().ok().filter(is_text);
        return number.map(Some).ok_or(PageError::NotFound);
    }
    Ok(only_text(look))
}

/// Number of the only text of an archive. Of an archive with more files than are listed none is:
/// these may be texts, too.
fn only_text(look: &NamesLook) -> Option<usize> {
    let files = &look.files;
    let mut texts = (0..files.len()).filter(|number| files[*number].text_path.is_some());
    let first = texts.next();
    if look.is_cut || texts.next().is_some() {
        None
    } else {
        first
    }
}

/// The files of an archive. Where their paths are long, the links of the last ones are left to
/// their looks, such that the page stays small.
fn listed(files: &[NamedSize]) -> Vec<FileInArchive> {
    let mut links_bytes = 0;
    let mut listed = Vec::with_capacity(files.len());
    for (number, file) in files.iter().enumerate() {
        let mut file = FileInArchive::new(number, file);
        links_bytes += file.query.len();
        if LOOK_LINKS_BYTES_MAX < links_bytes {
            file.query.clear();
        }
        listed.push(file);
    }
    listed
}

/// Sets the numbers of the texts of an archive, as the API lists them.
fn number_texts(listed: &mut [FileInArchive], files: &[NamedSize], record_season: Option<u16>) {
    let all = files.iter().map(|file| file.text_path.as_deref());
    let paths: Vec<&str> = all.flatten().collect();
    let texts = listed.iter_mut().filter(|file| file.text_number.is_some());
    for (text, numbers) in texts.zip(listed_numbers(&paths, record_season)) {
        let of_record = |number: Option<u32>| number.and_then(|it| u16::try_from(it).ok());
        text.episode_number = episode_number(of_record(numbers.season), of_record(numbers.episode));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_the_only_one_of_a_list_that_is_cut() {
        let file = |text_path: Option<&str>| NamedSize {
            name: "x".to_owned(),
            size_bytes: 1,
            text_path: text_path.map(str::to_owned),
        };
        let mut look = NamesLook {
            files: vec![file(None), file(Some("x.srt"))],
            is_cut: false,
        };
        assert_eq!(only_text(&look), Some(1));
        look.is_cut = true;
        assert_eq!(only_text(&look), None);
    }
}
