//! `api/v1/subtitles/<id>/download` (API.md 20.11).

use subcat_engine::RecordId;

use super::call::AddressCall;
use super::record::AddressRecord;
use crate::api::ApiWorker;
use crate::request::{AddressNumbers, address_numbers};
use crate::respond::ApiError;
use crate::runtime::HandlerOutcome;

/// A path that no text has: a text download of it finds nothing.
const NO_TEXT: &str = "&file=%2F";

/// Answers with one text of the file of a record, in UTF-8.
pub(super) fn answer(call: AddressCall<'_>, id: Option<RecordId>) -> HandlerOutcome {
    let query_string = call.uri.query().unwrap_or_default();
    let numbers = match address_numbers(query_string) {
        Ok(numbers) => numbers,
        Err(rejection) => {
            let error = ApiError::InvalidAddressParameter(rejection.body);
            return HandlerOutcome::Now(call.worker.refuse(call.admitted, error));
        }
    };
    let query = text_query(numbers, || is_of_episode(call.worker, id));
    call.worker.download(call.admitted, id, &query)
}

/// The query string of the text download. Season 0 counts as not given. Episode 0 has no text,
/// except for films, where it counts as not given.
fn text_query(numbers: AddressNumbers, is_of_episode: impl FnOnce() -> bool) -> String {
    let mut query = "encoding=utf-8".to_owned();
    if let Some(season) = numbers.season.filter(|season| *season != 0) {
        query.push_str(&format!("&season={season}"));
    }
    match numbers.episode {
        Some(0) if is_of_episode() => query.push_str(NO_TEXT),
        None | Some(0) => {}
        Some(episode) => query.push_str(&format!("&episode={episode}")),
    }
    query
}

/// True if the record is there and not a film.
fn is_of_episode(worker: &ApiWorker, id: Option<RecordId>) -> bool {
    let snapshot = worker.service().engine.catalog().snapshot();
    let location = id.and_then(|id| snapshot.locate(id).ok().flatten());
    let record = location.and_then(|location| AddressRecord::read(&snapshot, &location).ok());
    record.is_some_and(|record| record.is_episode())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_20_11_numbers_choose_the_text() {
        let query = |season, episode, is_episode| {
            let numbers = AddressNumbers { season, episode };
            text_query(numbers, || is_episode)
        };
        assert_eq!(query(None, None, true), "encoding=utf-8");
        let both = "encoding=utf-8&season=1&episode=2";
        assert_eq!(query(Some(1), Some(2), true), both);
        assert_eq!(query(Some(0), Some(2), true), "encoding=utf-8&episode=2");
        assert_eq!(
            query(Some(1), Some(0), true),
            "encoding=utf-8&season=1&file=%2F"
        );
        assert_eq!(query(None, Some(0), false), "encoding=utf-8");
    }
}
