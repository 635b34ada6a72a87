//! Object storage (S3) that keeps cached files, too.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, ObjectStoreExt, RetryConfig};
use subcat_engine::{BLOB_BYTES_MAX, BlobSource, ContentHash};

use crate::config::S3Settings;
use crate::limits::STORAGE_RETRIES_MAX;
use crate::runtime::ControlHandle;

/// Time for a connection to the service.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// Time for one attempt, content included.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(5);
/// Time after which nothing is tried again.
const RETRY_LIMIT: Duration = Duration::from_secs(6);
/// Folder of the bucket that holds contents, by their SHA-256.
const FOLDER: &str = "blobs";

/// A bucket. Contents lie in it as `blobs/<sha256>`.
pub struct ObjectStorage {
    store: Arc<dyn ObjectStore>,
    control: ControlHandle,
}

impl ObjectStorage {
    /// The bucket that the settings name; `None` if they name none. Its requests run on `control`.
    ///
    /// Errors: the settings make no client. Whether there is such a bucket is not asked.
    pub fn new(settings: &S3Settings, control: ControlHandle) -> io::Result<Option<Self>> {
        let (Some(endpoint), Some(bucket)) = (&settings.endpoint, &settings.bucket) else {
            return Ok(None);
        };
        // Fails if a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = ClientOptions::new()
            .with_allow_http(true)
            .with_connect_timeout(CONNECT_LIMIT)
            .with_timeout(ATTEMPT_LIMIT);
        let mut builder = AmazonS3Builder::new()
            .with_endpoint(endpoint)
            .with_bucket_name(bucket)
            .with_region(&settings.region)
            .with_client_options(client)
            .with_retry(RetryConfig {
                backoff: BackoffConfig::default(),
                max_retries: STORAGE_RETRIES_MAX,
                retry_timeout: RETRY_LIMIT,
            });
        builder = match (&settings.access_key, &settings.secret_key) {
            (Some(access_key), Some(secret_key)) => builder
                .with_access_key_id(access_key)
                .with_secret_access_key(secret_key),
            // A bucket that anybody may use, in a network of one's own.
            _ => builder.with_skip_signature(true),
        };
        let store = builder.build().map_err(|error| error_of(&error))?;
        Ok(Some(Self::over(Arc::new(store), control)))
    }

    fn over(store: Arc<dyn ObjectStore>, control: ControlHandle) -> Self {
        Self { store, control }
    }
}

impl BlobSource for ObjectStorage {
    fn get(&self, content: &ContentHash) -> io::Result<Option<Vec<u8>>> {
        let path = path_of(content);
        self.control.block_on(async {
            let found = match self.store.get(&path).await {
                Err(object_store::Error::NotFound { .. }) => return Ok(None),
                found => found.map_err(|error| error_of(&error))?,
            };
            if BLOB_BYTES_MAX < found.meta.size {
                // None of ours is as large.
                return Ok(None);
            }
            let bytes = found.bytes().await.map_err(|error| error_of(&error))?;
            Ok(Some(bytes.into()))
        })
    }

    fn put(&self, content: &ContentHash, bytes: &[u8]) -> io::Result<()> {
        let path = path_of(content);
        let payload = bytes.to_vec().into();
        let stored = self.control.block_on(self.store.put(&path, payload));
        stored.map(drop).map_err(|error| error_of(&error))
    }
}

/// The error of a request.
fn error_of(error: &object_store::Error) -> io::Error {
    // As a text: the causes are in it, and would be said twice.
    io::Error::other(error.to_string())
}

fn path_of(content: &ContentHash) -> Path {
    Path::from(format!("{FOLDER}/{content}"))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use object_store::memory::InMemory;

    use super::*;
    use crate::runtime::Control;

    fn content(number: u8) -> ContentHash {
        ContentHash([number; 32])
    }

    #[test]
    fn contents_come_back_and_others_are_none() {
        let control = Control::start().unwrap();
        let storage = ObjectStorage::over(Arc::new(InMemory::new()), control.handle());
        assert_eq!(storage.get(&content(1)).unwrap(), None);
        for bytes in [b"1\n00:00 first".as_slice(), b"", b"again"] {
            storage.put(&content(1), bytes).unwrap();
            assert_eq!(storage.get(&content(1)).unwrap().as_deref(), Some(bytes));
        }
        assert_eq!(storage.get(&content(2)).unwrap(), None);
    }

    #[test]
    fn an_outage_shows_within_seconds() {
        let control = Control::start().unwrap();
        let settings = S3Settings {
            // Nobody listens there.
            endpoint: Some("http://127.0.0.1:9".to_owned()),
            bucket: Some("files".to_owned()),
            ..S3Settings::default()
        };
        let storage = ObjectStorage::new(&settings, control.handle()).unwrap();
        let storage = storage.expect("the settings name a bucket");
        let began = Instant::now();
        assert!(storage.get(&content(1)).is_err());
        assert!(storage.put(&content(1), b"x").is_err());
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn without_an_endpoint_there_is_none() {
        let control = Control::start().unwrap();
        let storage = ObjectStorage::new(&S3Settings::default(), control.handle());
        assert!(storage.unwrap().is_none());
    }
}
