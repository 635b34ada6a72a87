//! `file/<id>.srt` (API.md 20.14).

use subcat_engine::RecordId;

use super::call::AddressCall;
use crate::runtime::HandlerOutcome;

/// Answers with one text of the file of a record, as srt.
pub(super) fn answer(call: AddressCall<'_>, id: Option<RecordId>) -> HandlerOutcome {
    let sent = call.uri.query().unwrap_or_default();
    // Of a repeated parameter the last counts.
    let query = format!("{sent}&format=srt");
    call.worker.download(call.admitted, id, &query)
}
