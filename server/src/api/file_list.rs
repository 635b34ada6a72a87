//! `GET /api/subtitles/{subtitle_id}/files`.

use std::sync::Arc;

use http::HeaderMap;
use subcat_engine::RecordId;

use super::accounting::RequestContext;
use super::download::{DownloadError, DownloadSource, fetch, recover, source_of, text_error};
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
    let source = match source_of(&worker.service, id) {
        Ok(source) => source,
        Err(error) => return HandlerOutcome::Now(worker.fail(context, headers, error)),
    };
    let worker = Arc::clone(worker);
    HandlerOutcome::Later(Box::pin(async move {
        let list = match list(&worker, &source).await {
            // A stored file that was lost is fetched again, once.
            Err(error) => match recover(&worker.service, &source, error).await {
                Ok(()) => list(&worker, &source).await.map_err(ApiError::from),
                Err(error) => Err(error),
            },
            Ok(list) => Ok(list),
        };
        match list {
            Ok(list) => {
                let (response, record) = context.respond(headers, list);
                worker.record(&record, response)
            }
            Err(error) => worker.fail(context, headers, error),
        }
    }))
}

async fn list(worker: &ApiWorker, source: &DownloadSource) -> Result<TaggedBody, DownloadError> {
    let stored = fetch(&worker.service, source).await?;
    let texts = worker.texts.list(stored).await.map_err(text_error)?;
    Ok(file_list(&texts))
}
