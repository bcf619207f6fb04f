import { parseBuffer } from 'music-metadata';
import { invalidRequest } from '../replies/provider-error.ts';

const FORMATS = ['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm'];
const MIN_SECONDS = 0.1;
/** For recordings without a length in their container (a browser's WebM). */
const GUESSED_BYTES_PER_SECOND = 4000;

const EXTENSION = /\.([a-z0-9]+)$/i;

const undecodable = () =>
  invalidRequest(
    'The audio file could not be decoded or its format is not supported.',
    'invalid_value',
    'file',
  );

/**
 * Seconds of sound in an uploaded file, from its own headers.
 * @throws ProviderError 400 for another format, for a file without sound, and for less than a tenth of a second
 */
export const audioDuration = async (file: File): Promise<number> => {
  const extension = EXTENSION.exec(file.name)?.[1]?.toLowerCase();
  if (extension && !FORMATS.includes(extension)) {
    const listed = FORMATS.map((format) => `'${format}'`).join(', ');
    throw invalidRequest(`Invalid file format. Supported formats: [${listed}]`, null, 'file');
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  const metadata = await parseBuffer(bytes, { size: bytes.length }, { duration: true }).catch(() => null);
  if (!metadata?.format.container) throw undecodable();
  const seconds = metadata.format.duration ?? bytes.length / GUESSED_BYTES_PER_SECOND;
  if (seconds >= MIN_SECONDS) return Math.round(seconds * 1000) / 1000;
  throw invalidRequest(
    `Audio file is too short. Minimum audio length is ${MIN_SECONDS} seconds.`,
    'audio_too_short',
    'file',
  );
};
