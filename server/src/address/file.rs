//! `file/<id>.srt` (API.md 20.14).

use subcat_engine::RecordId;

use super::call::AddressCall;
use crate::runtime::HandlerOutcome;

/// Answers with the file of a record.
pub(super) fn answer(call: AddressCall<'_>, id: Option<RecordId>) -> HandlerOutcome {
    call.worker.download(call.admitted, id)
}
