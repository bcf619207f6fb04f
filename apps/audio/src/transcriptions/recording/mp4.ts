import type { AudioSource, SoundReader } from './audio-source.ts';

const BOX_HEAD_BYTES = 8;
const LONG_HEAD_BYTES = 16;
/** Of a box of numbers: up to here its length, its scale and the like are. */
const HEAD_OF_BODY_BYTES = 48;
/** Of a run of samples: read at once. */
const RUN_BYTES = 32 * 1024;

interface Box {
  readonly type: string;
  readonly body: number;
  readonly end: number;
}

/** The boxes between two positions. ISO 14496-12, 4.2. */
async function* boxes({ blocks, sizeBytes }: AudioSource, from: number, to: number): AsyncGenerator<Box> {
  const limit = Math.min(to, sizeBytes);
  for (let position = from; position + BOX_HEAD_BYTES <= limit; ) {
    const head = await blocks.upTo(position, LONG_HEAD_BYTES);
    if (head.length < BOX_HEAD_BYTES) return;
    const short = head.readUInt32BE(0);
    if (short === 1 && head.length < LONG_HEAD_BYTES) return;
    const length = short === 1 ? Number(head.readBigUInt64BE(8)) : short === 0 ? limit - position : short;
    const headBytes = short === 1 ? LONG_HEAD_BYTES : BOX_HEAD_BYTES;
    if (length < headBytes) return;
    yield { type: head.toString('latin1', 4, 8), body: position + headBytes, end: position + length };
    position += length;
  }
}

/** A track of sound, as far as its length depends on it. */
interface Track {
  id: number;
  isSound: boolean;
  timescale: number;
  /** Of its samples; 0: not known. */
  ticks: number;
  /** Of what is played of them, in the units of the movie; 0: not known. */
  movieTicks: number;
  /** The default of a fragment's samples. */
  sampleTicks: number;
  /** The begin of the first fragment, which is late in what was captured from a stream on its way. */
  fragmentsStart: number;
  /** The end of the last fragment. */
  fragmentsEnd: number;
}

/** MP4: the length that the track of sound has in its head, or to the end of its last fragment, whichever is longer. */
export const readMp4: SoundReader = async (source, start) => {
  const tracks = new Map<number, Track>();
  let movie = { timescale: 0, ticks: 0 };
  let isListed = false;
  for await (const box of boxes(source, start, source.sizeBytes)) {
    if (box.type === 'moov') {
      isListed = true;
      movie = await readMovie(source, box, tracks);
    } else if (box.type === 'moof') await readFragment(source, box, tracks);
  }
  const sound = [...tracks.values()].filter(({ isSound }) => isSound);
  const lengths = sound.map(({ timescale, ticks, movieTicks, fragmentsStart, fragmentsEnd }) =>
    Math.max(
      seconds(movieTicks, movie.timescale) || seconds(ticks, timescale),
      seconds(Math.max(0, fragmentsEnd - fragmentsStart), timescale),
    ),
  );
  const longest = Math.max(0, ...lengths) || seconds(movie.ticks, movie.timescale);
  return { durationSeconds: longest > 0 ? longest : null, hasAudio: !isListed || sound.length > 0 };
};

const seconds = (ticks: number, timescale: number): number => (timescale > 0 ? ticks / timescale : 0);

type Length = Pick<Track, 'timescale' | 'ticks'>;

async function readMovie(source: AudioSource, movie: Box, tracks: Map<number, Track>): Promise<Length> {
  let length: Length = { timescale: 0, ticks: 0 };
  for await (const box of boxes(source, movie.body, movie.end)) {
    if (box.type === 'mvhd') length = lengthIn(await bodyOf(source, box));
    else if (box.type === 'trak') {
      const track = await readTrack(source, box);
      tracks.set(track.id, track);
    } else if (box.type === 'mvex')
      for await (const { type, ...rest } of boxes(source, box.body, box.end)) {
        const defaults = type === 'trex' ? await bodyOf(source, rest) : Buffer.alloc(0);
        const track = defaults.length >= 16 ? tracks.get(defaults.readUInt32BE(4)) : undefined;
        if (track !== undefined) track.sampleTicks = defaults.readUInt32BE(12);
      }
  }
  return length;
}

const NO_FRAGMENTS = { sampleTicks: 0, fragmentsStart: Number.POSITIVE_INFINITY, fragmentsEnd: 0 };

async function readTrack(source: AudioSource, trak: Box): Promise<Track> {
  const track = { ...NO_FRAGMENTS, id: 0, isSound: false, timescale: 0, ticks: 0, movieTicks: 0 };
  for await (const box of boxes(source, trak.body, trak.end)) {
    if (box.type === 'tkhd') Object.assign(track, trackHead(await bodyOf(source, box)));
    if (box.type !== 'mdia') continue;
    for await (const inner of boxes(source, box.body, box.end)) {
      if (inner.type === 'mdhd') Object.assign(track, lengthIn(await bodyOf(source, inner)));
      if (inner.type === 'hdlr')
        track.isSound = (await bodyOf(source, inner)).toString('latin1', 8, 12) === 'soun';
    }
  }
  return track;
}

async function readFragment(source: AudioSource, moof: Box, tracks: Map<number, Track>): Promise<void> {
  for await (const traf of boxes(source, moof.body, moof.end)) {
    if (traf.type !== 'traf') continue;
    let track: Track | undefined;
    let [sampleTicks, at] = [0, 0];
    for await (const box of boxes(source, traf.body, traf.end)) {
      if (box.type === 'tfhd') {
        const head = await bodyOf(source, box);
        track = head.length >= 8 ? tracks.get(head.readUInt32BE(4)) : undefined;
        sampleTicks = defaultTicks(head) ?? track?.sampleTicks ?? 0;
        at = track?.fragmentsEnd ?? 0;
      } else if (box.type === 'tfdt') at = baseTime(await bodyOf(source, box)) ?? at;
      else if (box.type === 'trun' && track?.isSound === true) {
        track.fragmentsStart = Math.min(track.fragmentsStart, at);
        at += await runTicks(source, box, sampleTicks);
        track.fragmentsEnd = Math.max(track.fragmentsEnd, at);
      }
    }
  }
}

const bodyOf = ({ blocks }: AudioSource, { body, end }: Pick<Box, 'body' | 'end'>): Promise<Buffer> =>
  blocks.upTo(body, Math.min(end - body, HEAD_OF_BODY_BYTES));

/** A length that is all ones is not known. */
const UNKNOWN_TICKS = 0xffffffff;

const ticksAt = (body: Buffer, at: number, isLong: boolean): number => {
  const ticks = isLong ? Number(body.readBigUInt64BE(at)) : body.readUInt32BE(at);
  return (isLong ? ticks < 2 ** 63 : ticks !== UNKNOWN_TICKS) ? ticks : 0;
};

/** Of `mvhd` and `mdhd`, which begin alike. */
function lengthIn(body: Buffer): Length {
  const isLong = body[0] === 1;
  if (body.length < (isLong ? 32 : 20)) return { timescale: 0, ticks: 0 };
  const timescale = body.readUInt32BE(isLong ? 20 : 12);
  return { timescale, ticks: ticksAt(body, isLong ? 24 : 16, isLong) };
}

/** Of `tkhd`. */
function trackHead(body: Buffer): Pick<Track, 'id' | 'movieTicks'> {
  const isLong = body[0] === 1;
  const at = isLong ? 20 : 12;
  if (body.length < at + (isLong ? 16 : 12)) return { id: 0, movieTicks: 0 };
  return { id: body.readUInt32BE(at), movieTicks: ticksAt(body, at + 8, isLong) };
}

function baseTime(body: Buffer): number | undefined {
  const isLong = body[0] === 1;
  if (body.length < (isLong ? 12 : 8)) return undefined;
  return isLong ? Number(body.readBigUInt64BE(4)) : body.readUInt32BE(4);
}

const flagsOf = (body: Buffer): number => body.readUIntBE(1, 3);

/** The default of one fragment. Two optional members may come before it. */
function defaultTicks(body: Buffer): number | undefined {
  const flags = flagsOf(body);
  const at = 8 + (flags & 0x1 ? 8 : 0) + (flags & 0x2 ? 4 : 0);
  return (flags & 0x8) !== 0 && body.length >= at + 4 ? body.readUInt32BE(at) : undefined;
}

/** How long a run of samples lasts: so many of the default, or each as long as it says. */
async function runTicks(source: AudioSource, box: Box, sampleTicks: number): Promise<number> {
  const head = await bodyOf(source, box);
  if (head.length < 8) return 0;
  const [flags, samples] = [flagsOf(head), head.readUInt32BE(4)];
  if ((flags & 0x100) === 0) return samples * sampleTicks;
  const rowBytes = 4 * [0x100, 0x200, 0x400, 0x800].filter((flag) => (flags & flag) !== 0).length;
  const first = box.body + 8 + (flags & 0x1 ? 4 : 0) + (flags & 0x4 ? 4 : 0);
  const last = Math.min(first + samples * rowBytes, box.end, source.sizeBytes);
  const pieceBytes = RUN_BYTES - (RUN_BYTES % rowBytes);
  let ticks = 0;
  for (let position = first; position < last; position += pieceBytes) {
    const rows = await source.blocks.upTo(position, Math.min(pieceBytes, last - position));
    for (let at = 0; at + rowBytes <= rows.length; at += rowBytes) ticks += rows.readUInt32BE(at);
  }
  return ticks;
}
