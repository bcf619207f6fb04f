import { extname } from 'node:path';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { lookUp } from '@gateway/contracts/look-up';
import { AUDIO_EXTENSIONS, type AudioExtension } from '@gateway/contracts/openai/transcriptions';
import type { IFormat } from 'music-metadata';

export interface AudioFile {
  /** The caller's name for it, with an ending that fits its content. */
  readonly name: string;
  readonly contentType: string;
  /** From the file's own headers; null if they lack it. */
  readonly durationSeconds: number | null;
}

interface AudioType {
  /** File endings that fit the content; the first is used where a file's own ending does not fit. */
  readonly extensions: readonly [AudioExtension, ...AudioExtension[]];
  readonly contentType: string;
}

const mpegAudio: AudioType = { extensions: ['mp3', 'mpga', 'mpeg'], contentType: 'audio/mpeg' };
const mp4: AudioType = { extensions: ['mp4', 'm4a'], contentType: 'audio/mp4' };
const m4a: AudioType = { extensions: ['m4a', 'mp4'], contentType: 'audio/mp4' };
const ogg: AudioType = { extensions: ['ogg', 'oga'], contentType: 'audio/ogg' };

/** The accepted contents, by their names in file-type. Other contents are refused, whatever the file's name. */
export const AUDIO_TYPES: Readonly<Record<string, AudioType>> = {
  flac: { extensions: ['flac'], contentType: 'audio/flac' },
  wav: { extensions: ['wav'], contentType: 'audio/wav' },
  webm: { extensions: ['webm'], contentType: 'audio/webm' },
  mp1: mpegAudio,
  mp2: mpegAudio,
  mp3: mpegAudio,
  mpg: { extensions: ['mpeg'], contentType: 'video/mpeg' },
  mp4,
  m4v: mp4,
  m4a,
  m4b: m4a,
  f4a: m4a,
  f4b: m4a,
  '3gp': m4a,
  ogg,
  oga: ogg,
  opus: ogg,
  spx: ogg,
};

/** The accepted file endings. The content shows the format, so endings of other accepted formats pass too. */
const ACCEPTED_ENDINGS: ReadonlySet<string> = new Set([
  ...AUDIO_EXTENSIONS,
  ...Object.keys(AUDIO_TYPES),
  'wave',
  'weba',
  'm4r',
]);
const SHORTEST_SECONDS = 0.1;
/** The upstream gets the name, but uses only its ending. */
const NAME_MAX_CHARACTERS = 200;

/**
 * What an uploaded file is, by its bytes. A name with a foreign ending is refused, as OpenAI does; otherwise the name
 * only chooses among the endings that fit the bytes.
 *
 * @throws {GatewayError} when it is empty, of no accepted type or ending, has no sound, or lasts less than 0.1 s
 */
export async function inspectAudio(file: {
  path: string;
  name: string;
  sizeBytes: number;
}): Promise<AudioFile> {
  if (file.sizeBytes === 0) {
    throw new GatewayError('invalid_value', {
      path: ['file'],
      message: 'The audio file is empty. Send a file with content.',
    });
  }
  if (!hasAcceptedEnding(file.name)) throw unsupportedFormat();
  // Loaded with the first upload: both are large, and most gateways transcribe little.
  const { fileTypeFromFile } = await import('file-type');
  const found = await fileTypeFromFile(file.path);
  const type = lookUp(AUDIO_TYPES, found?.ext);
  if (type === undefined) throw unsupportedFormat();
  const format = await readHeaders(file.path);
  if (format?.hasAudio === false) {
    throw new GatewayError('invalid_value', {
      path: ['file'],
      message: 'The audio file could not be decoded or its format is not supported.',
    });
  }
  if (isTooShort(format, file.sizeBytes)) {
    throw new GatewayError('audio_too_short', {
      path: ['file'],
      message: `Audio file is too short. Minimum audio length is ${SHORTEST_SECONDS} seconds.`,
    });
  }
  return {
    name: fittingName(file.name, type.extensions),
    contentType: type.contentType,
    durationSeconds: format?.duration ?? null,
  };
}

/** Without an ending in the name, the content alone decides. */
const hasAcceptedEnding = (name: string): boolean =>
  endingOf(name) === '' || ACCEPTED_ENDINGS.has(endingOf(name));

const endingOf = (name: string): string => extname(name).slice(1).toLowerCase();

function unsupportedFormat(): GatewayError {
  const list = AUDIO_EXTENSIONS.map((extension) => `'${extension}'`).join(', ');
  return new GatewayError('unsupported_format', {
    path: ['file'],
    message: `Invalid file format. Supported formats: [${list}]`,
  });
}

/** With headers that cannot be read, the upstream decides whether the file can be decoded. */
async function readHeaders(path: string): Promise<IFormat | null> {
  try {
    const { parseFile } = await import('music-metadata');
    const { format } = await parseFile(path, { skipCovers: true, skipPostHeaders: true });
    return format;
  } catch {
    return null;
  }
}

/** Writers that do not know the length in advance put 0 there, so the file's size must agree. */
function isTooShort(format: IFormat | null, sizeBytes: number): boolean {
  if (format?.duration === undefined || format.duration >= SHORTEST_SECONDS) return false;
  const { bitrate } = format;
  return bitrate === undefined || (sizeBytes * 8) / bitrate < 2 * SHORTEST_SECONDS;
}

function fittingName(name: string, extensions: readonly [string, ...string[]]): string {
  const stem = name.slice(0, name.length - extname(name).length).slice(0, NAME_MAX_CHARACTERS);
  const own = endingOf(name);
  return `${stem === '' ? 'audio' : stem}.${extensions.includes(own) ? own : extensions[0]}`;
}
