//! Files for pages: the downloads of the API, for readers whom a page has admitted.

use std::sync::Arc;

use http::header::{ACCEPT_ENCODING, IF_MATCH, IF_NONE_MATCH, IF_RANGE, RANGE};
use http::{HeaderMap, Response};
use subcat_engine::{CachedFile, RecordId, Usage, Variant};

use super::download::{
    DownloadError, DownloadRequest, DownloadSource, TextQuery, count, fetch, file_answer,
    make_ready, recover, requested_part, source_of,
};
use super::variants::FileVariants;
use super::worker::ApiWorker;
use crate::cache::OpenFile;
use crate::request::HeaderHints;
use crate::respond::{ApiError, FileHead};
use crate::runtime::Body;
use crate::service::Service;

/// A download that a page has admitted.
pub struct PageDownload {
    /// The record; `None` if the path names none.
    pub id: Option<RecordId>,
    /// The query string: a text of the file (API.md 17).
    pub query: String,
    /// Fields of the request.
    pub headers: HeaderMap,
    /// True if the method is `HEAD`.
    pub is_head: bool,
}

/// Reason why a page has no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageFileRejection {
    /// The query string has parameters of a text that are not valid.
    InvalidText,
    /// As the API refuses the download.
    Refused(ApiError),
}

impl From<ApiError> for PageFileRejection {
    fn from(error: ApiError) -> Self {
        Self::Refused(error)
    }
}

impl ApiWorker {
    /// Answers a download of a page as the API does: the file or a text of it, whole, in part or
    /// not at all because the client has it. The page sets the other fields. It counts for the
    /// record and the day, and for no key. Called by the worker's own thread.
    pub async fn page_download(
        &self,
        download: PageDownload,
    ) -> Result<Response<Body>, PageFileRejection> {
        let now = self.service.clock.now();
        let text = TextQuery::parse(Some(&download.query));
        let text = text.map_err(|_| PageFileRejection::InvalidText)?;
        let hints = hints(&download.headers);
        let mut request = DownloadRequest::new(hints, download.is_head, download.headers);
        request.text = text;
        let source = source_of(&self.service, download.id)?;
        let ready = make_ready(self, &source, &request, None).await?;
        let part = requested_part(&request, &ready)?;
        if part.is_counted(request.is_head) && count(self, source.id, None, now) {
            let usage = Usage {
                downloads: 1,
                ..Usage::default()
            };
            let mut state = self.state.lock();
            state.usage.add(None, now.timestamp(), &usage);
        }
        let head = FileHead::Page {
            is_head: request.is_head,
        };
        Ok(file_answer(self, head, &ready, part))
    }
}

fn hints(headers: &HeaderMap) -> HeaderHints {
    let conditions = [RANGE, IF_RANGE, IF_MATCH, IF_NONE_MATCH];
    HeaderHints {
        has_coding: headers.contains_key(ACCEPT_ENCODING),
        has_condition: conditions.iter().any(|name| headers.contains_key(name)),
    }
}

/// The stored file of a record, open; fetched if it never was. It counts as no download.
pub async fn open_file(
    service: &Service,
    variants: &Arc<FileVariants>,
    id: RecordId,
) -> Result<(CachedFile, OpenFile), ApiError> {
    let source = source_of(service, Some(id))?;
    match open_once(service, variants, &source).await {
        Ok(open) => Ok(open),
        Err(error) => {
            recover(service, &source, error).await?;
            Ok(open_once(service, variants, &source).await?)
        }
    }
}

async fn open_once(
    service: &Service,
    variants: &FileVariants,
    source: &DownloadSource,
) -> Result<(CachedFile, OpenFile), DownloadError> {
    let file = fetch(service, source).await?.file;
    let open = variants.open(&file, Variant::Identity).await?;
    // The file itself is never useless.
    let open = open.ok_or(DownloadError::NotOpened)?;
    Ok((file, open))
}
