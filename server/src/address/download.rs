//! `api/v1/subtitles/<id>/download` (API.md 20.11).

use subcat_engine::RecordId;

use super::call::AddressCall;
use crate::request::address_numbers;
use crate::respond::ApiError;
use crate::runtime::HandlerOutcome;

/// Answers with the file of a record.
pub(super) fn answer(call: AddressCall<'_>, id: Option<RecordId>) -> HandlerOutcome {
    let query_string = call.uri.query().unwrap_or_default();
    if let Err(rejection) = address_numbers(query_string) {
        let error = ApiError::InvalidAddressParameter(rejection.body);
        return HandlerOutcome::Now(call.worker.refuse(call.admitted, error));
    }
    call.worker.download(call.admitted, id)
}
