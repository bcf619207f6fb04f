import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readRecording } from './read-recording.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.close());

async function recordingOf(bytes: Buffer) {
  const path = join(folder.path, 'recording');
  await writeFile(path, bytes);
  return readRecording(path);
}

const fixture = (name: string): Promise<Buffer> =>
  readFile(new URL(`../../fixtures/audio/${name}`, import.meta.url));

/** A fixture with other bytes in a place that is found by those before it. */
async function changed(name: string, before: Buffer, bytes: Buffer): Promise<Buffer> {
  const whole = await fixture(name);
  const at = whole.indexOf(before);
  if (at === -1) throw new Error(`${name} has no such bytes`);
  bytes.copy(whole, at + before.length);
  return whole;
}

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** WAV as a pipe leaves it: its sizes are whatever the writer put there before it knew. */
const pipedWav = (size: string) => changed('tone.wav', Buffer.from('data'), hex(size));

function box(type: string, ...content: readonly (Buffer | number)[]): Buffer {
  const body = Buffer.concat(content.map((part) => (typeof part === 'number' ? uint32(part) : part)));
  return Buffer.concat([uint32(body.length + 8), Buffer.from(type, 'latin1'), body]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const FTYP = box('ftyp', Buffer.from('isom'), 0, Buffer.from('isom'));

/** MP4 as recorders write it that go on for as long as they like: 3 fragments of 4 samples. */
function fragmentedMp4(start = 0): Buffer {
  const handler = box('hdlr', 0, 0, Buffer.from('soun'), 0, 0, 0);
  const trak = box(
    'trak',
    box('tkhd', 0, 0, 0, 7, 0, 0),
    box('mdia', box('mdhd', 0, 0, 0, 1000, 0, 0), handler),
  );
  const movie = box(
    'moov',
    box('mvhd', 0, 0, 0, 1000, 0),
    trak,
    box('mvex', box('trex', 0, 7, 1, 250, 0, 0)),
  );
  const fragment = (at: number) =>
    box('moof', box('traf', box('tfhd', 0, 7), box('tfdt', 0, at), box('trun', 0, 4)));
  return Buffer.concat([FTYP, movie, ...[0, 1000, 2000].map((at) => fragment(start + at))]);
}

async function withoutSampleSize(): Promise<Buffer> {
  const whole = await fixture('tone.wav');
  whole.writeUInt16LE(0, whole.indexOf('fmt ') + 22);
  return whole;
}

async function sizedBy64Bits(name: string): Promise<Buffer> {
  const whole = await pipedWav('ff ff ff ff');
  const sizes = Buffer.concat([Buffer.from('ds64'), hex('1c 00 00 00'), Buffer.alloc(28)]);
  return Buffer.concat([
    Buffer.from(name),
    hex('ff ff ff ff'),
    Buffer.from('WAVE'),
    sizes,
    whole.subarray(12),
  ]);
}

async function extensible(): Promise<Buffer> {
  const whole = await fixture('tone.wav');
  const [format, data] = [whole.indexOf('fmt '), whole.indexOf('data')];
  const head = whole.subarray(format + 8, format + 24);
  head.writeUInt16LE(0xfffe);
  const more = hex('16 00 10 00 04 00 00 00 01 00 00 00 00 00 10 00 80 00 00 aa 00 38 9b 71');
  return Buffer.concat([
    whole.subarray(0, 12),
    Buffer.from('fmt '),
    hex('28 00 00 00'),
    head,
    more,
    whole.subarray(data),
  ]);
}

/** A stream of Opus whose pages go up to these seconds; NaN for one that does not say it. */
function oggOpus(...seconds: number[]): Buffer {
  const pages = seconds.map((second) => {
    const page = Buffer.from(OGG_PAGE);
    page.writeBigInt64LE(Number.isNaN(second) ? -1n : BigInt(second * 48_000), 6);
    return page;
  });
  return Buffer.concat([OPUS_PAGE, ...pages]);
}

async function withoutXing(): Promise<Buffer> {
  const whole = await fixture('tone.mp3');
  const first = whole.indexOf(0xff);
  return whole.subarray(whole.indexOf(whole.subarray(first, first + 2), whole.indexOf('Info')));
}

test.for<[string, () => Buffer | Promise<Buffer>, number]>([
  ['WAV from a pipe, with zeros', () => pipedWav('00 00 00 00'), 0.5],
  ['WAV from a pipe, with ones', () => pipedWav('ff ff ff ff'), 0.5],
  ['WAV that claims more than it has', () => pipedWav('00 00 00 7f'), 0.5],
  ['WAV that says its length', () => fixture('tone.wav'), 0.5],
  ['FLAC that says its length', () => fixture('tone.flac'), 0.5],
  ['FLAC without a total', withoutFlacTotal, 0.5],
  ['WebM without a duration', () => changed('tone.webm', hex('2a d7 b1 83 0f 42 40'), hex('44 88')), 0.5],
  ['Ogg Opus', () => fixture('tone.oga'), 0.5],
  ['Ogg Vorbis', () => fixture('tone.ogg'), 0.5],
  [
    'two Ogg files in one',
    async () => Buffer.concat([await fixture('tone.oga'), await fixture('tone.ogg')]),
    1,
  ],
  ['MP4 that says its length', () => fixture('tone.m4a'), 0.5],
  ['MP4 in fragments', () => fragmentedMp4(), 3],
  ['MP4 in fragments, of a stream that has run for a month', () => fragmentedMp4(2_600_000_000), 3],
  ['WAV that does not say how large a sample is', () => withoutSampleSize(), 0.5],
  ['WAV in a form for more than 4 GB', async () => sizedBy64Bits('RF64'), 0.5],
  ['WAV in its successor', async () => sizedBy64Bits('BW64'), 0.5],
  ['WAV in the extended form', () => extensible(), 0.5],
  // What the first page holds of a stream is not said: a second less than there is.
  ['Ogg Opus, of a stream that has run for a day', () => oggOpus(86_401, 86_402, 86_403, 86_404), 3],
  ['Ogg Opus without a position at its end', () => oggOpus(1, 2, 3, Number.NaN), 3],
  ['MP3 that says how many frames it has', () => fixture('tone.mp3'), 0.58],
  ['MP3 that does not', withoutXing, 0.58],
  [
    'MP3 after an empty tag',
    async () => Buffer.concat([hex('49 44 33 04 00 00 00 00 00 00'), await withoutXing()]),
    0.58,
  ],
])('%s: its seconds are measured', async ([, bytes, seconds]) => {
  const recording = await recordingOf(await bytes());
  expect(recording).toMatchObject({ hasAudio: true });
  expect(recording?.durationSeconds).toBeCloseTo(seconds, 1);
});

async function withoutFlacTotal(): Promise<Buffer> {
  const whole = await fixture('tone.flac');
  whole.writeUInt8(whole.readUInt8(21) & 0xf0, 21);
  whole.writeUInt32BE(0, 22);
  return whole;
}

const WEBM = hex('1a 45 df a3 87 42 82 84 77 65 62 6d 18 53 80 67 01 ff ff ff ff ff ff ff');
const OPUS_PAGE = Buffer.concat([
  Buffer.from('OggS\0\x02'),
  Buffer.alloc(20),
  hex('01 13'),
  Buffer.from('OpusHead'),
  Buffer.alloc(11),
]);
const OGG_PAGE = Buffer.concat([Buffer.from('OggS'), Buffer.alloc(23)]);

/** So many parts that nothing is learnt from, as a file that is to be read slowly has them. */
const many = (part: Buffer, count = 200_000): Buffer => Buffer.alloc(part.length * count, part);

test.for<[string, Buffer]>([
  ['empty boxes of MP4', Buffer.concat([FTYP, many(box('free'))])],
  ['empty tracks of MP4', Buffer.concat([FTYP, box('moov', many(box('trak')))])],
  ['empty fragments of MP4', Buffer.concat([FTYP, many(box('moof'))])],
  [
    'a run of more samples than there can be',
    Buffer.concat([FTYP, box('moof', box('traf', box('tfhd', 0, 7), box('trun', 0x100, 0xffffffff)))]),
  ],
  ['empty elements of WebM', Buffer.concat([WEBM, many(hex('ec 80'))])],
  ['empty clusters of WebM', Buffer.concat([WEBM, many(hex('1f 43 b6 75 80'))])],
  [
    'clusters of WebM that never end',
    Buffer.concat([WEBM, many(hex('1f 43 b6 75 ff'), 20_000), many(hex('ec 80'))]),
  ],
  ['empty pages of Ogg', Buffer.concat([OPUS_PAGE, many(OGG_PAGE)])],
  ['beginnings of Ogg', many(OPUS_PAGE, 50_000)],
  ['empty chunks of WAV', Buffer.concat([Buffer.from('RIFF0000WAVE'), many(Buffer.from('abcd\0\0\0\0'))])],
  [
    'marks of FLAC frames',
    Buffer.concat([
      Buffer.from('fLaC'),
      hex('00 00 00 22 10 00 10 00 00 00 00 00 00 00 0a c4 42 f0'),
      Buffer.alloc(24),
      many(hex('ff f8 19 08')),
    ]),
  ],
  [
    'a duration of centuries',
    Buffer.concat([
      FTYP,
      box(
        'moov',
        box('mvhd', 0, 0, 0, 1, 0xfffffff0),
        box('trak', box('mdia', box('hdlr', 0, 0, Buffer.from('soun')))),
      ),
    ]),
  ],
])('%s: the length is unknown, and the file is read once', async ([, bytes]) => {
  expect((await recordingOf(bytes))?.durationSeconds ?? null).toBeNull();
});

test('tags without end are no recording', async () => {
  expect(await recordingOf(many(hex('49 44 33 04 00 00 00 00 00 00')))).toBeUndefined();
});
