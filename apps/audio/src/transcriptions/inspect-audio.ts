import { GatewayError } from '@gateway/contracts/gateway-error';
import { AUDIO_EXTENSIONS } from '@gateway/contracts/openai/transcriptions';
import { readRecording } from './recording/read-recording.ts';

export { AUDIO_TYPES } from './recording/read-recording.ts';

export interface AudioFile {
  /** The caller's name for it, with an ending that fits its content. */
  readonly name: string;
  readonly contentType: string;
  /** As the file itself shows it; null where it does not. */
  readonly durationSeconds: number | null;
}

/** Endings of what is certainly no recording: a caller who sends one chose the wrong file. The content decides about all others. */
const FOREIGN_ENDINGS: ReadonlySet<string> = new Set(
  'txt md csv tsv json jsonl html htm xml yaml yml pdf doc docx odt rtf xls xlsx ppt pptx srt vtt png jpg jpeg gif webp svg zip tar gz 7z exe js ts py'.split(
    ' ',
  ),
);
const SHORTEST_SECONDS = 0.1;
/** The upstream gets the name, but uses only its ending. */
const NAME_MAX_CHARACTERS = 200;

/**
 * What an uploaded file is, by its bytes. A name of another kind of file is refused, as OpenAI does; otherwise the name only
 * chooses among the endings that fit the bytes.
 *
 * @throws {GatewayError} when it is empty, of no accepted type, has no sound, or lasts less than 0.1 s
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
  const { stem, ending } = nameParts(file.name);
  if (FOREIGN_ENDINGS.has(ending)) throw unsupportedFormat();
  const recording = await readRecording(file.path);
  if (recording === undefined) throw unsupportedFormat();
  const { type, durationSeconds, hasAudio } = recording;
  if (!hasAudio) {
    throw new GatewayError('invalid_value', {
      path: ['file'],
      message: 'The audio file could not be decoded or its format is not supported.',
    });
  }
  if (durationSeconds !== null && durationSeconds < SHORTEST_SECONDS) {
    throw new GatewayError('audio_too_short', {
      path: ['file'],
      message: `Audio file is too short. Minimum audio length is ${SHORTEST_SECONDS} seconds.`,
    });
  }
  const [usual] = type.extensions;
  const fitting = type.extensions.find((extension) => extension === ending) ?? usual;
  return { name: `${stem}.${fitting}`, contentType: type.contentType, durationSeconds };
}

const ENDING = /\.([a-z0-9]{1,8})$/i;

function nameParts(name: string): { readonly stem: string; readonly ending: string } {
  const ending = ENDING.exec(name)?.[1] ?? '';
  const stem = ending === '' ? name : name.slice(0, -ending.length - 1);
  const shown = Array.from(stem).slice(0, NAME_MAX_CHARACTERS).join('');
  return { stem: shown === '' ? 'audio' : shown, ending: ending.toLowerCase() };
}

function unsupportedFormat(): GatewayError {
  const list = AUDIO_EXTENSIONS.map((extension) => `'${extension}'`).join(', ');
  return new GatewayError('unsupported_format', {
    path: ['file'],
    message: `Invalid file format. Supported formats: [${list}]`,
  });
}
