//! The same in Rust with its standard library: files, threads, sockets, clocks, memory.

use std::ffi::{c_char, c_void};
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

#[repr(C)]
pub struct Info {
    struct_size: u32,
    abi: u32,
    name: *const c_char,
    version: *const c_char,
}

#[repr(C)]
pub struct Buf {
    data: *mut u8,
    len: u64,
}

fn threads() -> std::io::Result<u32> {
    let counted = Arc::new(Mutex::new(0u32));
    let mut all = Vec::new();
    for _ in 0..4 {
        let mine = counted.clone();
        all.push(std::thread::Builder::new().spawn(move || {
            for _ in 0..1000 {
                if let Ok(mut held) = mine.lock() {
                    *held += 1;
                }
            }
        })?);
    }
    for one in all {
        let _ = one.join();
    }
    let held = counted.lock().map(|held| *held).unwrap_or(1);
    Ok(held % 4000)
}

fn files(folder: &str) -> std::io::Result<u32> {
    let path = format!("{folder}/busy.rs");
    let mut file = std::fs::OpenOptions::new().read(true).write(true).create(true).open(&path)?;
    writeln!(file, "three words here")?;
    file.seek(SeekFrom::Start(0))?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    file.set_len(100)?;
    file.sync_all()?;
    std::fs::metadata(&path)?;
    let other = format!("{path}.2");
    std::fs::rename(&path, &other)?;
    let count = std::fs::read_dir(folder)?.count();
    std::fs::copy(&other, &path)?;
    std::fs::remove_file(&other)?;
    std::fs::remove_file(&path)?;
    std::fs::create_dir_all(format!("{folder}/a/b"))?;
    std::fs::remove_dir_all(format!("{folder}/a"))?;
    Ok(if count > 0 { 0 } else { 1 })
}

fn network() -> std::io::Result<u32> {
    let server = TcpListener::bind("127.0.0.1:0")?;
    let mut client = TcpStream::connect(server.local_addr()?)?;
    let (mut end, _) = server.accept()?;
    client.write_all(b"hello")?;
    client.set_nodelay(true)?;
    let mut got = [0u8; 5];
    end.read_exact(&mut got)?;
    Ok(u32::from(&got != b"hello"))
}

fn clocks() -> u32 {
    let now = std::time::Instant::now();
    std::thread::sleep(std::time::Duration::from_micros(10));
    let mut large = vec![1u8; 8 << 20];
    large.resize(16 << 20, 2);
    u32::from(now.elapsed().as_nanos() == 0 || std::env::var_os("BUSY").is_some())
}

#[no_mangle]
pub extern "C" fn ds_plugin_abi() -> u32 {
    1
}

#[no_mangle]
pub unsafe extern "C" fn ds_plugin_info(out: *mut Info) -> i32 {
    (*out).name = b"busy\0".as_ptr() as *const c_char;
    (*out).version = b"1.0.0\0".as_ptr() as *const c_char;
    0
}

#[no_mangle]
pub extern "C" fn ds_step_init(_: *const u8, _: u64, _: *const c_void) -> i32 {
    0
}

#[no_mangle]
pub unsafe extern "C" fn ds_step_run(data: *const u8, len: u64, out: *mut Buf) -> i32 {
    let folder = String::from_utf8_lossy(std::slice::from_raw_parts(data, len as usize)).into_owned();
    let found = [threads(), files(&folder), network(), Ok(clocks())];
    let words: Vec<String> = found
        .iter()
        .map(|one| one.as_ref().map_or_else(|problem| problem.to_string(), |good| good.to_string()))
        .collect();
    let bytes = words.join(" ").into_bytes().into_boxed_slice();
    (*out).len = bytes.len() as u64;
    (*out).data = Box::into_raw(bytes) as *mut u8;
    0
}

#[no_mangle]
pub extern "C" fn ds_step_shutdown() {}

#[no_mangle]
pub unsafe extern "C" fn ds_buf_free(buf: *mut Buf) {
    if !(*buf).data.is_null() {
        let bytes = std::ptr::slice_from_raw_parts_mut((*buf).data, (*buf).len as usize);
        drop(Box::from_raw(bytes));
        (*buf).data = std::ptr::null_mut();
    }
}

#[no_mangle]
pub unsafe extern "C" fn ds_last_error(out: *mut Buf) {
    (*out).len = 0;
    (*out).data = std::ptr::null_mut();
}
