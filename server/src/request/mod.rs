//! Requests as typed values: heads, paths, parameters and header fields.
//!
//! Pure: bytes in, values or rejections out. Does not know responses.

mod address;
mod address_path;
mod address_search;
mod base_path;
mod bearer;
mod encoding;
mod head;
mod path;
mod precondition;
mod query_string;
mod route_rule;
mod search;
mod text_download;

pub use address::client_address;
pub use address_path::{
    ADDRESS_RULES, AddonVideo, AddressEndpoint, AddressPath, address_path, is_below_address,
};
pub use address_search::{
    AddressNumbers, AddressRejection, AddressSearch, address_numbers, address_search,
};
pub use base_path::without_base;
pub use bearer::{authorization, bearer_token};
pub use encoding::accepted_variants;
pub use head::{HeadRejection, HeaderHints, KnownHost, check_head};
pub use path::{API_RULES, ApiPath, api_path};
pub use precondition::{ByteRange, byte_range, is_match, is_none_match, is_range_current};
pub use query_string::parameters;
pub use route_rule::{Caching, Cost, Methods, RouteAccess, RouteRule, RouteThrottle};
pub use search::{
    ParameterRejection, SEARCH_PARAMETERS, SearchRejection, SearchRequest, search_request,
};
pub use text_download::{TEXT_PARAMETERS, TextDownload, TextEncoding, TextFormat, text_download};
