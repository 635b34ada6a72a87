//! `GET /api/subtitles/{subtitle_id}/files`.

use std::sync::Arc;

use http::HeaderMap;
use subcat_engine::RecordId;

use super::accounting::RequestContext;
use super::download::{DownloadError, DownloadSource, fetch, source_of, text_error};
use super::worker::ApiWorker;
use crate::respond::{ApiError, TaggedBody, file_list};
use crate::runtime::HandlerOutcome;

/// Answers with the texts of a record's file, which is fetched as for a download (API.md 17.9).
pub(super) fn answer(
    worker: &Arc<ApiWorker>,
    context: RequestContext,
    headers: HeaderMap,
    id: Option<RecordId>,
) -> HandlerOutcome {
    let source = match source_of(worker, id) {
        Ok(source) => source,
        Err(error) => return HandlerOutcome::Now(worker.fail(context, headers, error)),
    };
    let worker = Arc::clone(worker);
    HandlerOutcome::Later(Box::pin(async move {
        let list = match list(&worker, &source).await {
            // The stored file was lost, and has been forgotten: it is fetched again, once.
            Err(DownloadError::NotOpened) => list(&worker, &source).await,
            list => list,
        };
        match list {
            Ok(list) => {
                let (response, record) = context.respond(headers, list);
                worker.record(&record, response)
            }
            Err(error) => worker.fail(context, headers, ApiError::from(error)),
        }
    }))
}

async fn list(worker: &ApiWorker, source: &DownloadSource) -> Result<TaggedBody, DownloadError> {
    let stored = fetch(worker, source).await?;
    let texts = worker.texts.list(stored).await.map_err(text_error)?;
    Ok(file_list(&texts))
}
