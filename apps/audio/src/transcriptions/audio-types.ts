import type { AudioExtension } from '@gateway/contracts/openai/transcriptions';

interface AudioType {
  /** File endings that fit the content; the first is used where a file's own ending does not fit. */
  readonly extensions: readonly [AudioExtension, ...AudioExtension[]];
  readonly contentType: string;
}

const mpegAudio: AudioType = { extensions: ['mp3', 'mpga', 'mpeg'], contentType: 'audio/mpeg' };
const mp4: AudioType = { extensions: ['mp4', 'm4a'], contentType: 'audio/mp4' };
const m4a: AudioType = { extensions: ['m4a', 'mp4'], contentType: 'audio/mp4' };
const ogg: AudioType = { extensions: ['ogg', 'oga'], contentType: 'audio/ogg' };

/** What file-type calls the contents that transcription takes. Anything else is refused, whatever its name. */
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
