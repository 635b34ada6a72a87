//! `api/v1/languages` (API.md 20.9).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use http::Response;
use serde::Serialize;

use super::call::AddressCall;
use crate::api::failed;
use crate::rows::language_name;
use crate::runtime::Body;

#[derive(Serialize)]
struct LanguageCount {
    name: String,
    count: u64,
}

#[derive(Serialize)]
struct LanguageList {
    items: Vec<LanguageCount>,
    total_items: usize,
}

/// The languages of active records, most records first.
pub(super) fn answer(call: AddressCall<'_>) -> Response<Body> {
    let counts = match call.worker.service().language_counts() {
        Ok(counts) => counts,
        Err(error) => return call.worker.refuse(call.admitted, failed(&error)),
    };
    let mut by_name = BTreeMap::<String, u64>::new();
    for (term, count) in &*counts {
        *by_name
            .entry(language_name(*term).into_owned())
            .or_default() += count;
    }
    let items = by_name.into_iter();
    let mut items: Vec<_> = items
        .map(|(name, count)| LanguageCount { name, count })
        .collect();
    // A stable sort: names are in order already.
    items.sort_by_key(|item| Reverse(item.count));
    let list = LanguageList {
        total_items: items.len(),
        items,
    };
    let body = serde_json::to_vec(&list).expect("texts and numbers always serialise");
    call.worker.send(call.admitted, body.into())
}
