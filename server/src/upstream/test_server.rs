//! An upstream with scripted answers, for tests.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use parking_lot::Mutex;

/// Starts an upstream that answers each connection with the next text and closes it. Returns its
/// base URL and the requests it received.
pub(super) fn upstream(
    answers: impl IntoIterator<Item = String, IntoIter: Send + 'static>,
) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let requests = Arc::clone(&seen);
    let answers = answers.into_iter();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            // Recorded before the answer: the test may count requests as soon as it has one.
            requests.lock().push(read_request(&stream));
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (format!("http://{address}"), seen)
}

fn read_request(stream: &TcpStream) -> String {
    let mut request = String::new();
    let mut reader = BufReader::new(stream);
    while !request.ends_with("\r\n\r\n") && reader.read_line(&mut request).unwrap() > 0 {}
    request
}

/// An answer with `Content-Length`; each line of `headers` ends with CRLF.
pub(super) fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n");
    format!("{head}Connection: close\r\n\r\n{body}")
}
