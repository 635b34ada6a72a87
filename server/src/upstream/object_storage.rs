//! Object storage (S3) that keeps cached files, too.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientOptions, ObjectStore, ObjectStoreExt, RetryConfig, WriteMultipart,
};
use parking_lot::Mutex;
use subcat_engine::{BlobAnswer, BlobSource, ContentHash};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time;

use super::http_client::install_tls;
use crate::config::S3Settings;
use crate::limits::{BUCKET_PAGE, STORAGE_REQUESTS_MAX, STORAGE_RETRIES_MAX};
use crate::runtime::Control;

/// Time for a connection to the service.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// Time for one upload: the largest file takes it at 200 KB a second. A smaller one has less.
const PUT_LIMIT: Duration = Duration::from_secs(60);
/// Bytes of a file that extend the time limit of its upload by a second.
const PUT_BYTES_PER_SECOND: usize = 200 << 10;
/// Time in which a waiting client gets its file, and before that a permit. An outage shows within
/// seconds, where the defaults of the library hide it for minutes.
const GET_LIMIT: Duration = Duration::from_secs(6);
/// Time without requests after a failure: clients get their files from upstream at once.
const OUTAGE_PAUSE: Duration = Duration::from_secs(5);
/// Bytes of a part of a large object.
const PART_BYTES: usize = 8 << 20;
/// Parts that are uploaded at once.
const UPLOADS_AT_ONCE: usize = 2;
/// Folder of the bucket for blobs, named by their SHA-256.
const FOLDER: &str = "blobs";
/// Name of the object there that identifies the bucket as the one that was used before.
const MARK: &str = "mark";
/// Code of the answer that there is no such object, as opposed to no such bucket.
const NO_SUCH_KEY: &str = "NoSuchKey";

/// A bucket. Contents lie in it as `blobs/<sha256>`.
///
/// Each request is a task: a service that hangs holds no thread.
pub struct ObjectStorage {
    name: String,
    bucket: Arc<Bucket>,
    /// Runs the requests: a thread that waits for one may be outside of any runtime.
    runtime: Option<Control>,
}

/// State that all requests share: each may outlive the call that began it.
struct Bucket {
    store: Arc<dyn ObjectStore>,
    /// Permits for requests of blobs. That of a download is held until its bytes are taken: many
    /// may wait for a thread that stores them.
    permits: Arc<Semaphore>,
    /// End of the pause after a failure.
    away_until: Mutex<Option<Instant>>,
}

impl ObjectStorage {
    /// The bucket that the settings name; `None` if they name none.
    ///
    /// Errors: the settings make no client. Whether there is such a bucket is not asked.
    pub fn new(settings: &S3Settings) -> io::Result<Option<Self>> {
        let (Some(endpoint), Some(bucket)) = (&settings.endpoint, &settings.bucket) else {
            return Ok(None);
        };
        install_tls();
        let client = ClientOptions::new()
            .with_allow_http(true)
            .with_connect_timeout(CONNECT_LIMIT)
            .with_timeout(PUT_LIMIT);
        let mut builder = AmazonS3Builder::new()
            .with_endpoint(endpoint)
            .with_bucket_name(bucket)
            .with_region(&settings.region)
            .with_client_options(client)
            // Not every service deletes several objects at once.
            .with_disable_bulk_delete(true)
            .with_retry(RetryConfig {
                backoff: BackoffConfig::default(),
                max_retries: STORAGE_RETRIES_MAX,
                retry_timeout: GET_LIMIT,
            });
        builder = match (&settings.access_key, &settings.secret_key) {
            (Some(access_key), Some(secret_key)) => builder
                .with_access_key_id(access_key)
                .with_secret_access_key(secret_key),
            // A bucket without authentication, in a private network.
            _ => builder.with_skip_signature(true),
        };
        let store = builder.build().map_err(|error| error_of(&error))?;
        let name = format!("{endpoint}/{bucket}");
        Self::over(name, Arc::new(store)).map(Some)
    }

    fn over(name: String, store: Arc<dyn ObjectStore>) -> io::Result<Self> {
        let bucket = Bucket {
            store,
            permits: Arc::new(Semaphore::new(STORAGE_REQUESTS_MAX)),
            away_until: Mutex::new(None),
        };
        Ok(Self {
            name,
            bucket: Arc::new(bucket),
            runtime: Some(Control::start()?),
        })
    }

    /// Begins a request, which continues even if its answer is dropped.
    fn begin<T, R>(&self, request: impl FnOnce(Arc<Bucket>) -> R) -> BlobAnswer<T>
    where
        T: Send + 'static,
        R: Future<Output = io::Result<T>> + Send + 'static,
    {
        let runtime = self.runtime.as_ref();
        let handle = runtime.expect("it is there until the end").handle();
        let begun = handle.spawn(request(Arc::clone(&self.bucket)));
        Box::pin(async {
            begun
                .await
                .unwrap_or_else(|lost| Err(io::Error::other(lost)))
        })
    }
}

/// Snapshots of a cluster. They take as long as their size asks for, and no permit.
impl ObjectStorage {
    /// Names of the objects in a folder of the bucket, ascending.
    pub fn names(&self, folder: &str) -> BlobAnswer<Vec<String>> {
        let folder = Path::from(folder);
        self.begin(|bucket| async move {
            let listed = bucket.store.list(Some(&folder)).try_collect::<Vec<_>>();
            let listed = listed.await.map_err(|error| error_of(&error))?;
            let names = listed.iter().filter_map(|it| it.location.filename());
            let mut names: Vec<String> = names.map(str::to_owned).collect();
            names.sort_unstable();
            Ok(names)
        })
    }

    /// Uploads what `from` gives, in parts.
    pub fn upload(&self, name: &str, mut from: impl Read + Send + 'static) -> BlobAnswer<()> {
        let path = Path::from(name);
        self.begin(|bucket| async move {
            let parts = bucket.store.put_multipart(&path).await;
            let parts = parts.map_err(|error| error_of(&error))?;
            let mut upload = WriteMultipart::new(parts);
            let mut part = vec![0; PART_BYTES];
            loop {
                let count = read_full(&mut from, &mut part)?;
                if count == 0 {
                    break;
                }
                let room = upload.wait_for_capacity(UPLOADS_AT_ONCE).await;
                room.map_err(|error| error_of(&error))?;
                upload.write(&part[..count]);
            }
            let finished = upload.finish().await;
            finished.map(drop).map_err(|error| error_of(&error))
        })
    }

    /// Removes an object.
    pub fn remove(&self, name: &str) -> BlobAnswer<()> {
        let path = Path::from(name);
        self.begin(|bucket| async move {
            let removed = bucket.store.delete(&path).await;
            removed.map_err(|error| error_of(&error))
        })
    }

    /// Downloads an object.
    pub fn download(&self, name: &str, mut to: impl Write + Send + 'static) -> BlobAnswer<()> {
        let path = Path::from(name);
        self.begin(|bucket| async move {
            let found = bucket.store.get(&path).await;
            let mut parts = found.map_err(|error| error_of(&error))?.into_stream();
            while let Some(part) = parts.next().await {
                to.write_all(&part.map_err(|error| error_of(&error))?)?;
            }
            to.flush()
        })
    }
}

/// A content in the bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketContent {
    /// SHA-256 of it.
    pub content: ContentHash,
    /// Bytes of it.
    pub bytes: u64,
    /// Unix time in seconds at which it was put there last.
    pub put_at: i64,
}

/// Some contents in the bucket, in the order of their names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BucketPage {
    /// The contents; other objects are left out.
    pub contents: Vec<BucketContent>,
    /// Name of the last object; none if there are no more.
    pub last: Option<String>,
}

/// The contents as a whole. Like snapshots they take no permit.
impl ObjectStorage {
    /// The contents among up to [`BUCKET_PAGE`] objects after one.
    pub fn contents_after(&self, last: Option<&str>) -> BlobAnswer<BucketPage> {
        let folder = Path::from(FOLDER);
        let after = last.map_or_else(|| folder.clone(), Path::from);
        self.begin(|bucket| async move {
            let objects = bucket.store.list_with_offset(Some(&folder), &after);
            let objects = objects.take(BUCKET_PAGE).try_collect::<Vec<_>>().await;
            let objects = objects.map_err(|error| error_of(&error))?;
            let contents = objects.iter().filter_map(|object| {
                let content = ContentHash::parse(object.location.filename()?)?;
                (path_of(&content) == object.location).then_some(BucketContent {
                    content,
                    bytes: object.size,
                    put_at: object.last_modified.timestamp(),
                })
            });
            Ok(BucketPage {
                contents: contents.collect(),
                last: objects.last().map(|object| object.location.to_string()),
            })
        })
    }

    /// Removes a content that was put there last before a second. Returns false if there is none
    /// by now: a file with the same content may be being stored, which puts it there again.
    pub fn remove_content(&self, content: &ContentHash, before: i64) -> BlobAnswer<bool> {
        let path = path_of(content);
        self.begin(move |bucket| async move {
            match bucket.store.head(&path).await {
                Ok(object) if object.last_modified.timestamp() < before => {}
                Ok(_) | Err(object_store::Error::NotFound { .. }) => return Ok(false),
                Err(error) => return Err(error_of(&error)),
            }
            let removed = bucket.store.delete(&path).await;
            removed.map_err(|error| error_of(&error))?;
            Ok(true)
        })
    }
}

/// Reads until the buffer is full, or the end.
fn read_full(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match from.read(&mut buffer[count..])? {
            0 => break,
            read => count += read,
        }
    }
    Ok(count)
}

impl Drop for ObjectStorage {
    fn drop(&mut self) {
        // A runtime that is just dropped waits for its threads, which not every thread may do.
        if let Some(runtime) = self.runtime.take() {
            runtime.stop();
        }
    }
}

impl BlobSource for ObjectStorage {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn get(&self, content: &ContentHash, size_bytes: u64) -> BlobAnswer<Option<Vec<u8>>> {
        let path = path_of(content);
        let fetched = self.begin(|bucket| async move { bucket.get(&path, size_bytes).await });
        Box::pin(async {
            let (bytes, _permit) = fetched.await?;
            Ok(bytes)
        })
    }

    fn put(&self, content: &ContentHash, bytes: Vec<u8>) -> BlobAnswer<()> {
        let path = path_of(content);
        // Clients may wait for it, and a service that hangs must not keep them for a minute.
        let seconds = bytes.len() / PUT_BYTES_PER_SECOND;
        let limit = GET_LIMIT + Duration::from_secs(seconds as u64);
        self.begin(|bucket| async move { bucket.put(&path, bytes, limit).await })
    }

    fn has_mark(&self) -> BlobAnswer<bool> {
        let path = Path::from(format!("{FOLDER}/{MARK}"));
        self.begin(|bucket| async move {
            let _permit = bucket.permit().await?;
            within(GET_LIMIT, async {
                match bucket.store.get(&path).await {
                    Ok(_) => Ok(true),
                    Err(error) if is_missing(&error) => Ok(false),
                    Err(error) => Err(error_of(&error)),
                }
            })
            .await
        })
    }

    fn put_mark(&self) -> BlobAnswer<()> {
        let path = Path::from(format!("{FOLDER}/{MARK}"));
        let text = "subcat looks for this object before it takes a file for lost\n";
        self.begin(|bucket| async move { bucket.put(&path, text.into(), GET_LIMIT).await })
    }
}

impl Bucket {
    /// Waits for a permit, which clients that wait for other files hold.
    async fn permit(&self) -> io::Result<OwnedSemaphorePermit> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        let permit = time::timeout(GET_LIMIT, permit).await;
        let permit = permit.map_err(|_| io::Error::other("too many requests are under way"))?;
        Ok(permit.expect("the permits are never closed"))
    }

    /// Errors: a request has failed a moment ago.
    fn ensure_there(&self) -> io::Result<()> {
        let away_until = *self.away_until.lock();
        if away_until.is_some_and(|until| Instant::now() < until) {
            return Err(io::Error::other("it was away a moment ago"));
        }
        Ok(())
    }

    async fn get(
        &self,
        path: &Path,
        size_bytes: u64,
    ) -> io::Result<(Option<Vec<u8>>, OwnedSemaphorePermit)> {
        self.ensure_there()?;
        let permit = self.permit().await?;
        // The first failure answers all that have waited for their turn.
        self.ensure_there()?;
        let fetched = within(GET_LIMIT, self.fetch(path, size_bytes)).await;
        *self.away_until.lock() = match fetched {
            Ok(_) => None,
            Err(_) => Some(Instant::now() + OUTAGE_PAUSE),
        };
        Ok((fetched?, permit))
    }

    async fn fetch(&self, path: &Path, size_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let found = match self.store.get(path).await {
            Err(error) if is_missing(&error) => return Ok(None),
            found => found.map_err(|error| error_of(&error))?,
        };
        if found.meta.size != size_bytes {
            return Ok(None);
        }
        let bytes = found.bytes().await.map_err(|error| error_of(&error))?;
        Ok(Some(bytes.into()))
    }

    async fn put(&self, path: &Path, bytes: Vec<u8>, limit: Duration) -> io::Result<()> {
        let _permit = self.permit().await?;
        within(limit, async {
            let stored = self.store.put(path, bytes.into()).await;
            stored.map(drop).map_err(|error| error_of(&error))
        })
        .await
    }
}

/// The answer of a request. Errors: none comes in this time.
async fn within<T>(limit: Duration, request: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let answer = time::timeout(limit, request).await;
    answer.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Returns true if the answer is that the bucket has no such object. A 404 alone may be that of a
/// bucket which is not there, or of a proxy.
fn is_missing(error: &object_store::Error) -> bool {
    let is_not_found = matches!(error, object_store::Error::NotFound { .. });
    is_not_found && code_of(&error.to_string()) == NO_SUCH_KEY
}

/// The code in the body of an answer; empty if there is none.
fn code_of(text: &str) -> &str {
    let code = text.split_once("<Code>");
    let code = code.and_then(|(_, rest)| rest.split_once("</Code>"));
    code.map_or("", |(code, _)| code)
}

/// The error of a request. Without the body of the answer, which may repeat the access key, but for
/// the code in it.
fn error_of(error: &object_store::Error) -> io::Error {
    // As a text, which includes the causes: otherwise they would appear twice.
    let text = error.to_string();
    let said = text.split('<').next().unwrap_or_default();
    let code = code_of(&text);
    io::Error::other(format!("{said}{code}"))
}

fn path_of(content: &ContentHash) -> Path {
    Path::from(format!("{FOLDER}/{content}"))
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;
    use subcat_engine::block_on;

    use super::*;

    fn content(number: u8) -> ContentHash {
        ContentHash([number; 32])
    }

    fn at(endpoint: &str) -> ObjectStorage {
        let settings = S3Settings {
            endpoint: Some(endpoint.to_owned()),
            bucket: Some("files".to_owned()),
            ..S3Settings::default()
        };
        let storage = ObjectStorage::new(&settings).unwrap();
        storage.expect("the settings name a bucket")
    }

    /// The disk may be slower than the bucket: what has come and is not stored yet is bounded.
    #[test]
    fn a_content_that_is_not_taken_keeps_its_permit() {
        let storage = ObjectStorage::over("m".into(), Arc::new(InMemory::new())).unwrap();
        block_on(storage.put(&content(1), b"bytes".to_vec())).unwrap();
        let free = || storage.bucket.permits.available_permits();
        let wait_for = |count| {
            let until = Instant::now() + Duration::from_secs(60);
            while free() != count {
                assert!(Instant::now() < until, "{} are free", free());
                std::thread::yield_now();
            }
        };
        let came = storage.get(&content(1), 5);
        wait_for(STORAGE_REQUESTS_MAX - 1);
        for _ in 0..100 {
            // Each of these is a task behind it.
            let _ = block_on(storage.has_mark());
        }
        assert_eq!(free(), STORAGE_REQUESTS_MAX - 1);
        let dropped = storage.get(&content(1), 5);
        wait_for(STORAGE_REQUESTS_MAX - 2);
        drop(dropped);
        wait_for(STORAGE_REQUESTS_MAX - 1);
        assert!(block_on(came).unwrap().is_some());
        assert_eq!(free(), STORAGE_REQUESTS_MAX);
    }

    #[test]
    fn contents_come_back_and_others_are_none() {
        let storage = ObjectStorage::over("m".into(), Arc::new(InMemory::new())).unwrap();
        // It gives no code with its answer.
        assert!(block_on(storage.get(&content(1), 5)).is_err());
        *storage.bucket.away_until.lock() = None;
        for bytes in [b"first".as_slice(), b"", b"again"] {
            block_on(storage.put(&content(1), bytes.to_vec())).unwrap();
            let size_bytes = bytes.len() as u64;
            let got = block_on(storage.get(&content(1), size_bytes)).unwrap();
            assert_eq!(got.as_deref(), Some(bytes));
            let got = block_on(storage.get(&content(1), size_bytes + 1)).unwrap();
            assert_eq!(got, None, "it is not what was asked for");
        }
        assert!(block_on(storage.put_mark()).is_ok());
        assert!(block_on(storage.has_mark()).unwrap());
    }

    #[test]
    fn only_the_code_of_a_missing_object_says_that_it_is_missing() {
        let answer = |body: &str| object_store::Error::NotFound {
            path: "blobs/x".to_owned(),
            source: format!("status 404: {body}").into(),
        };
        for (body, expected) in [
            ("<?xml?><Error><Code>NoSuchKey</Code></Error>", true),
            ("<?xml?><Error><Code>NoSuchBucket</Code></Error>", false),
            ("<html>404</html>", false),
            ("", false),
        ] {
            assert_eq!(is_missing(&answer(body)), expected, "{body}");
        }
    }

    #[test]
    fn an_outage_shows_within_seconds_and_then_at_once() {
        // No server listens there; the host is a name, which must be looked up.
        let storage = at("http://localhost:9");
        let began = Instant::now();
        assert!(block_on(storage.get(&content(1), 1)).is_err());
        assert!(block_on(storage.put(&content(1), vec![1])).is_err());
        assert!(began.elapsed() < Duration::from_secs(10));
        let began = Instant::now();
        for _ in 0..100 {
            assert!(block_on(storage.get(&content(1), 1)).is_err());
        }
        assert!(began.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn without_an_endpoint_there_is_none() {
        let storage = ObjectStorage::new(&S3Settings::default());
        assert!(storage.unwrap().is_none());
    }

    #[test]
    fn an_error_has_the_code_of_the_answer_and_not_its_body() {
        let answer = "status 403: <?xml?>\n<Error><Code>InvalidAccessKeyId</Code><Key>AKIA</Key>";
        let error = object_store::Error::Generic {
            store: "S3",
            source: answer.into(),
        };
        let text = error_of(&error).to_string();
        assert!(text.contains("403: InvalidAccessKeyId"), "{text}");
        assert!(!text.contains("AKIA"), "{text}");
    }
}
