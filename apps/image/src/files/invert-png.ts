import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { crc32, createDeflate, createInflate } from 'node:zlib';
import { FileBlocks } from '@gateway/forms/file-blocks';
import { invertedLines, type PixelForm } from './invert-lines.ts';

/** Bounds the time that a mask takes. */
export const MAX_MASK_PIXELS = 25_000_000;
/** Bounds the length of a line. */
export const MAX_MASK_SIDE = 32_767;
/** More chunks than encoders write. */
const MAX_CHUNKS = 10_000;
const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const HEAD_BYTES = 8;
const CHECK_BYTES = 4;
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
/** Of Adam7: where each pass begins and its steps, across and down. PNG (third edition), 8.2. */
const PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;
const WHOLE = [[0, 0, 1, 1]] as const;

/** A PNG that cannot be inverted; the message is for the caller. */
export class BadPng extends Error {}

interface Chunk {
  readonly type: string;
  readonly start: number;
  readonly length: number;
}

/**
 * Writes a copy of a PNG whose transparent pixels are opaque and the other way round; colours stay. A few lines are in memory at a
 * time, and no more is decoded than the head says, which is bounded.
 *
 * @throws {BadPng}
 */
export async function invertPng(sourcePath: string, targetPath: string): Promise<void> {
  const { chunks, form, palette, transparency } = await readPng(sourcePath);
  const isPalette = form.colourType === 3;
  const pixels = chunks.filter(({ type }) => type === 'IDAT');
  async function* copy(): AsyncGenerator<Buffer> {
    yield SIGNATURE;
    yield chunk('IHDR', headOf(form));
    if (isPalette) {
      yield chunk('PLTE', palette);
      yield chunk('tRNS', invertedPalette(palette, transparency));
      yield* eachAsChunk(bytesOf(sourcePath, pixels));
    } else {
      const packed = createDeflate();
      const raw = inflated(bytesOf(sourcePath, pixels), form.decodedBytes);
      const writing = pipeline(invertedLines(raw, form, transparency), packed);
      writing.catch(() => undefined);
      yield* eachAsChunk(packed);
      await writing;
    }
    yield chunk('IEND', Buffer.alloc(0));
  }
  await pipeline(copy, createWriteStream(targetPath, { flags: 'wx' }));
}

interface Png {
  readonly chunks: readonly Chunk[];
  readonly form: PngForm;
  readonly palette: Buffer;
  /** The content of its `tRNS`; empty without one. */
  readonly transparency: Buffer;
}

interface PngForm extends PixelForm {
  readonly width: number;
  readonly height: number;
  readonly isInterlaced: boolean;
  readonly decodedBytes: number;
}

async function readPng(path: string): Promise<Png> {
  await using file = await open(path);
  const blocks = new FileBlocks(file, 2 * MAX_CHUNKS);
  const chunks: Chunk[] = [];
  for (let position = SIGNATURE.length; chunks.length < MAX_CHUNKS; ) {
    const head = await blocks.bytesAt(position, HEAD_BYTES);
    if (head === undefined) break;
    const [length, type] = [head.readUInt32BE(0), head.toString('latin1', 4, 8)];
    chunks.push({ type, start: position + HEAD_BYTES, length });
    if (type === 'IEND') break;
    position += HEAD_BYTES + length + CHECK_BYTES;
  }
  const contentOf = async (name: string, maxBytes: number): Promise<Buffer> => {
    const found = chunks.find(({ type }) => type === name);
    return found === undefined
      ? Buffer.alloc(0)
      : Buffer.from(await blocks.upTo(found.start, Math.min(found.length, maxBytes)));
  };
  const form = formOf(await contentOf('IHDR', 13));
  return { chunks, form, palette: await contentOf('PLTE', 768), transparency: await contentOf('tRNS', 256) };
}

function formOf(head: Buffer): PngForm {
  if (head.length < 13) throw new BadPng('The mask cannot be read as a PNG file.');
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  const [bits, colourType, interlacing] = [head.readUInt8(8), head.readUInt8(9), head.readUInt8(12)];
  const channels = CHANNELS[colourType];
  if (
    channels === undefined ||
    ![1, 2, 4, 8, 16].includes(bits) ||
    interlacing > 1 ||
    width === 0 ||
    height === 0
  )
    throw new BadPng('The mask cannot be read as a PNG file.');
  const form = { width, height, bits, colourType, channels, isInterlaced: interlacing === 1 };
  if (width * height > MAX_MASK_PIXELS || Math.max(width, height) > MAX_MASK_SIDE)
    throw new BadPng(
      `The mask is too large. It may have ${MAX_MASK_PIXELS} pixels, and ${MAX_MASK_SIDE} on a side.`,
    );
  const passes = (form.isInterlaced ? PASSES : WHOLE)
    .map(([x, y, across, down]) => ({
      pixels: Math.ceil((width - x) / across),
      rows: Math.ceil((height - y) / down),
    }))
    .filter(({ pixels, rows }) => pixels > 0 && rows > 0);
  const decodedBytes = passes.reduce((sum, { pixels, rows }) => sum + rows * lineBytes(form, pixels), 0);
  return { ...form, passes, decodedBytes };
}

/** With the byte before each line that names its filter. */
const lineBytes = ({ bits, channels }: Pick<PixelForm, 'bits' | 'channels'>, pixels: number): number =>
  1 + Math.ceil((pixels * channels * bits) / 8);

async function* bytesOf(path: string, chunks: readonly Chunk[]): AsyncGenerator<Buffer> {
  for (const { start, length } of chunks)
    if (length > 0) yield* createReadStream(path, { start, end: start + length - 1 });
}

/** The pixels' bytes, exactly so many. @throws {BadPng} where there are fewer, or they cannot be read */
async function* inflated(packed: AsyncIterable<Buffer>, expectedBytes: number): AsyncGenerator<Buffer> {
  const inflate = createInflate();
  const reading = pipeline(packed, inflate);
  reading.catch(() => undefined);
  let left = expectedBytes;
  try {
    for await (const piece of inflate) {
      const bytes: Buffer = piece;
      yield bytes.subarray(0, left);
      left -= bytes.length;
      if (left <= 0) return;
    }
  } catch (error) {
    throw new BadPng('The mask cannot be read as a PNG file.', { cause: error });
  } finally {
    inflate.destroy();
  }
  throw new BadPng('The mask is broken: it has fewer pixels than its head says.');
}

async function* eachAsChunk(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield chunk('IDAT', piece);
}

function chunk(type: string, content: Buffer): Buffer {
  const bytes = Buffer.alloc(HEAD_BYTES + content.length + CHECK_BYTES);
  bytes.writeUInt32BE(content.length, 0);
  bytes.write(type, 4, 'latin1');
  content.copy(bytes, HEAD_BYTES);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, HEAD_BYTES + content.length)), HEAD_BYTES + content.length);
  return bytes;
}

/** Grey and colours get an alpha channel; what has one already keeps its form. */
function headOf({ width, height, bits, colourType, isInterlaced }: PngForm): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.writeUInt8(colourType === 3 || bits > 8 ? bits : 8, 8);
  head.writeUInt8(colourType === 0 || colourType === 2 ? colourType + 4 : colourType, 9);
  head.writeUInt8(isInterlaced ? 1 : 0, 12);
  return head;
}

/** A palette's transparency: what it does not name is opaque. */
function invertedPalette(palette: Buffer, transparency: Buffer): Buffer {
  const inverted = Buffer.alloc(Math.floor(palette.length / 3));
  for (const [index, alpha] of transparency.subarray(0, inverted.length).entries())
    inverted[index] = 255 - alpha;
  return inverted;
}
