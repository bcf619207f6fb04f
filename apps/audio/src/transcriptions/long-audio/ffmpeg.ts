import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { lookUp } from '@gateway/contracts/look-up';

export interface Ffmpeg {
  /** A path, or a name that is looked up. */
  readonly program: string;
  /** Folders to look it up in, as `PATH` has them. */
  readonly searchPath: string;
}

export interface Recording {
  readonly path: string;
  readonly contentType: string;
}

/** A stretch without speech, in seconds. */
export interface Silence {
  readonly start: number;
  readonly end: number;
}

/** One stretch of a recording and the file that it is written to. */
export interface Stretch {
  readonly start: number;
  readonly end: number;
  readonly target: string;
}

/**
 * How each type is read. The reader is never left to guess: a file that begins like sound could otherwise be read as a
 * playlist that names other files.
 */
export const READERS: Readonly<Record<string, string>> = {
  'audio/flac': 'flac',
  'audio/wav': 'wav',
  'audio/webm': 'matroska',
  'audio/mpeg': 'mp3',
  'video/mpeg': 'mpeg',
  'audio/mp4': 'mov',
  'audio/ogg': 'ogg',
};

/** What counts as silence: quieter than this, for at least so many seconds. */
const SILENCE = 'silencedetect=noise=-35dB:d=0.35';

/** Mono of 16 kHz in FLAC: all that speech models hear, without loss, and never more than this. */
const PART_FORMAT = ['-vn', '-ac', '1', '-ar', '16000', '-sample_fmt', 's16', '-c:a', 'flac', '-f', 'flac'];
export const PART_MAX_BYTES_PER_SECOND = 33_000;
export const PART_CONTENT_TYPE = 'audio/flac';

/**
 * Listens to a recording once: how long it lasts and where it is silent, in seconds.
 *
 * @throws {GatewayError} `file_too_large` without ffmpeg, `invalid_value` for what it cannot decode
 */
export async function findSilences(
  ffmpeg: Ffmpeg,
  recording: Recording,
  signal: AbortSignal,
): Promise<{ readonly durationSeconds: number; readonly silences: readonly Silence[] }> {
  const silences: Silence[] = [];
  let durationSeconds = 0;
  let start: number | null = null;
  const onLine = (line: string) => {
    const time = /^out_time=(\d+):(\d+):(\d+(?:\.\d+)?)/.exec(line);
    if (time) durationSeconds = Number(time[1]) * 3600 + Number(time[2]) * 60 + Number(time[3]);
    const begin = /silence_start: (-?[\d.]+)/.exec(line)?.[1];
    if (begin !== undefined) start = Math.max(0, Number(begin));
    const end = /silence_end: (-?[\d.]+)/.exec(line)?.[1];
    if (end === undefined || start === null) return;
    silences.push({ start, end: Number(end) });
    start = null;
  };
  const after = ['-vn', '-af', SILENCE, '-f', 'null', '-progress', 'pipe:1', '-nostats', '-'];
  await run(ffmpeg, { recording, args: after, signal, onLine });
  return { durationSeconds, silences };
}

/** Writes stretches of a recording as files of their own, exact to the sample, in one pass. @throws as `findSilences` */
export function extractStretches(
  ffmpeg: Ffmpeg,
  recording: Recording,
  { stretches, signal }: { readonly stretches: readonly Stretch[]; readonly signal: AbortSignal },
): Promise<void> {
  const args = stretches.flatMap(({ start, end, target }) => [
    ...['-map', '0:a:0', '-ss', String(start), '-t', String(end - start)],
    ...[...PART_FORMAT, '-y', target],
  ]);
  return run(ffmpeg, { recording, args, signal, onLine: () => undefined });
}

interface RunOptions {
  readonly recording: Recording;
  readonly args: readonly string[];
  readonly signal: AbortSignal;
  readonly onLine: (line: string) => void;
}

const KEPT_LINES = 5;

async function run(
  { program, searchPath }: Ffmpeg,
  { recording, args, signal, onLine }: RunOptions,
): Promise<void> {
  const reader = lookUp(READERS, recording.contentType);
  if (reader === undefined) throw new Error(`no reader for ${recording.contentType}`);
  signal.throwIfAborted();
  // Nothing else of the gateway's environment, and no protocol but files.
  const child = spawn(
    program,
    [
      '-hide_banner',
      '-nostdin',
      '-protocol_whitelist',
      'file,pipe',
      '-f',
      reader,
      '-i',
      recording.path,
      ...args,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: searchPath }, signal, killSignal: 'SIGKILL' },
  );
  const ended = once(child, 'close');
  const last: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      onLine(line);
      last.push(line);
      if (last.length > KEPT_LINES) last.shift();
    });
  const [code] = await ended.catch((error: unknown) => {
    signal.throwIfAborted();
    throw isMissing(error) ? notInstalled(error) : error;
  });
  if (code !== 0) throw undecodable(new Error(`ffmpeg ended with ${code}: ${last.join(' | ')}`));
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'EACCES');

const notInstalled = (cause: unknown): GatewayError =>
  new GatewayError('file_too_large', {
    path: ['file'],
    message:
      'This recording is larger or longer than the model takes, and the gateway cannot split it because ffmpeg is not installed where its audio worker runs. Send a shorter one, or tell the operator of the gateway.',
    cause,
  });

const undecodable = (cause: unknown): GatewayError =>
  new GatewayError('invalid_value', {
    path: ['file'],
    message: 'The audio file could not be decoded or its format is not supported.',
    cause,
  });
