import { audioFile, silence } from './audio-files.ts';

/** The parts of a form, in their order. */
type Parts = readonly (readonly [name: string, value: string | File])[];

const file = silence(1);
/** A form that passes. */
export const VALID: Parts = [
  ['file', file],
  ['model', 'whisper-1'],
];
const FORMATS = "['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm']";
const notAudio = `Invalid file format. Supported formats: ${FORMATS}`;
const undecodable = 'The audio file could not be decoded or its format is not supported.';
/** A text under this name. */
export const notARecording = (name: string) =>
  new File(['This is no recording, whatever it is called. '.repeat(50)], name);

interface Refusal {
  readonly parts: () => Parts | Promise<Parts>;
  readonly status?: number;
  readonly code: string | null;
  readonly param: string | null;
  readonly message: string | RegExp;
}

const withPart = (name: string, value: string) => () => [...VALID, [name, value] as const];

/** Forms that are refused, by what is wrong with them. */
export const REFUSED: Readonly<Record<string, Refusal>> = {
  'no file': {
    parts: () => [['model', 'whisper-1']],
    code: 'missing_required_parameter',
    param: 'file',
    message: "Missing required parameter: 'file'.",
  },
  'a file that is a text part': {
    parts: () => [
      ['model', 'whisper-1'],
      ['file', 'RIFF'],
    ],
    code: 'missing_required_parameter',
    param: 'file',
    message: "Missing required parameter: 'file'.",
  },
  'no model': {
    parts: () => [['file', file]],
    code: 'missing_required_parameter',
    param: 'model',
    message: "Missing required parameter: 'model'.",
  },
  'an empty model': {
    parts: () => [
      ['file', file],
      ['model', ''],
    ],
    code: 'missing_required_parameter',
    param: 'model',
    message: "Missing required parameter: 'model'.",
  },
  'an unknown model': {
    parts: () => [
      ['file', file],
      ['model', 'whisper-9'],
    ],
    status: 404,
    code: 'model_not_found',
    param: 'model',
    message: "The model 'whisper-9' does not exist or you do not have access to it.",
  },
  'a model of another kind': {
    parts: () => [
      ['file', file],
      ['model', 'tts-1'],
    ],
    code: 'unsupported_model',
    param: 'model',
    message: /is a speech model/,
  },
  'two models': {
    parts: withPart('model', 'gpt-transcribe'),
    code: 'invalid_type',
    param: 'model',
    message: /expected a string, but got an array/,
  },
  'two files': {
    parts: () => [...VALID, ['file', file]],
    code: 'invalid_value',
    param: 'file',
    message: /more than one file/,
  },
  'a file under another name': {
    parts: () => [
      ['model', 'whisper-1'],
      ['audio', file],
    ],
    code: 'unknown_parameter',
    param: 'audio',
    message: /^Unknown parameter: 'audio'/,
  },
  'an empty file': {
    parts: () => [
      ['file', new File([], 'audio.mp3')],
      ['model', 'whisper-1'],
    ],
    code: 'invalid_value',
    param: 'file',
    message: /empty/,
  },
  'text under the name of a recording': {
    parts: () => [
      ['file', notARecording('audio.mp3')],
      ['model', 'whisper-1'],
    ],
    code: 'unsupported_format',
    param: 'file',
    message: notAudio,
  },
  'a recording under the name of a text': {
    parts: async () => [
      ['file', await audioFile('tone.wav', 'notes.txt')],
      ['model', 'whisper-1'],
    ],
    code: 'unsupported_format',
    param: 'file',
    message: notAudio,
  },
  'a recording of another format under an accepted name': {
    parts: async () => [
      ['file', await audioFile('tone.aac', 'tone.mp3')],
      ['model', 'whisper-1'],
    ],
    code: 'unsupported_format',
    param: 'file',
    message: notAudio,
  },
  'a film without sound': {
    parts: async () => [
      ['file', await audioFile('silent-film.mp4')],
      ['model', 'whisper-1'],
    ],
    code: 'invalid_value',
    param: 'file',
    message: undecodable,
  },
  'less than a tenth of a second': {
    parts: () => [
      ['file', silence(0.09)],
      ['model', 'whisper-1'],
    ],
    code: 'audio_too_short',
    param: 'file',
    message: 'Audio file is too short. Minimum audio length is 0.1 seconds.',
  },
  'a language that is a word': {
    parts: withPart('language', 'english'),
    code: 'invalid_language_format',
    param: 'language',
    message: /^Invalid language 'english'\. Language parameter must be specified in ISO-639-1 format/,
  },
  'a two-letter language that does not exist': {
    parts: withPart('language', 'xx'),
    code: 'invalid_language_format',
    param: 'language',
    message: /'xx'/,
  },
  'a wrong language among several': {
    parts: () => [...VALID, ['languages[]', 'de'], ['languages[]', 'deutsch']],
    code: 'invalid_language_format',
    param: 'languages[1]',
    message: /'deutsch'/,
  },
  'temperature 1.1': {
    parts: withPart('temperature', '1.1'),
    code: 'decimal_above_max_value',
    param: 'temperature',
    message: /Expected a value <= 1, but got 1\.1/,
  },
  'temperature -0.1': {
    parts: withPart('temperature', '-0.1'),
    code: 'decimal_below_min_value',
    param: 'temperature',
    message: /Expected a value >= 0, but got -0\.1/,
  },
  'a temperature in words': {
    parts: withPart('temperature', 'warm'),
    code: 'invalid_type',
    param: 'temperature',
    message: /expected a decimal, but got a string/,
  },
  'an unknown format': {
    parts: withPart('response_format', 'xml'),
    code: 'invalid_value',
    param: 'response_format',
    message:
      "Invalid value: 'xml'. Supported values are: 'json', 'text', 'srt', 'verbose_json', 'vtt', and 'diarized_json'.",
  },
  'granularities without verbose_json': {
    parts: withPart('timestamp_granularities[]', 'word'),
    code: 'invalid_value',
    param: 'timestamp_granularities',
    message: /only taken with response_format 'verbose_json'/,
  },
  'an unknown granularity': {
    parts: () => [...VALID, ['response_format', 'verbose_json'], ['timestamp_granularities[]', 'letter']],
    code: 'invalid_value',
    param: 'timestamp_granularities[0]',
    message: /'word' and 'segment'/,
  },
  'a stream that is neither true nor false': {
    parts: withPart('stream', 'yes'),
    code: 'invalid_type',
    param: 'stream',
    message: /expected a boolean/,
  },
  'an unknown chunking strategy': {
    parts: withPart('chunking_strategy', '{"type":"client_vad"}'),
    code: 'invalid_value',
    param: 'chunking_strategy.type',
    message: /server_vad/,
  },
  'five known speakers': {
    parts: () => [...VALID, ...['a', 'b', 'c', 'd', 'e'].map((n) => ['known_speaker_names[]', n] as const)],
    code: 'array_above_max_length',
    param: 'known_speaker_names',
    message: /maximum length 4, but got an array with length 5/,
  },
  'more text parts than are read': {
    parts: () => [...VALID, ...Array.from({ length: 64 }, (_, n) => [`part_${n}`, 'x'] as const)],
    status: 413,
    code: 'request_too_large',
    param: null,
    message: /64 text parts/,
  },
  'a text part that is too long': {
    parts: withPart('prompt', 'x'.repeat(1_500_001)),
    status: 413,
    code: 'request_too_large',
    param: null,
    message: /too large/,
  },
  'text parts that are too long together': {
    parts: () => [
      ...Array.from({ length: 4 }, (_, n) => [`p${n}`, 'x'.repeat(1_400_000)] as const),
      ...VALID,
    ],
    status: 413,
    code: 'request_too_large',
    param: null,
    message: /too large/,
  },
};

/** Forms that pass, by what is special about them. */
export const PASSING: Readonly<Record<string, Parts>> = {
  'a model after its file': VALID,
  'empty optional parts': [
    ...VALID,
    ['language', ''],
    ['prompt', ''],
    ['response_format', ''],
    ['temperature', ''],
    ['stream', ''],
    ['timestamp_granularities[]', ''],
    ['chunking_strategy', ''],
  ],
  'ISO 639-1': [...VALID, ['language', 'de']],
  'ISO 639-3': [...VALID, ['language', 'yue']],
  'BCP 47': [...VALID, ['language', 'pt-BR']],
  'temperature 0': [...VALID, ['temperature', '0']],
  'temperature 1': [...VALID, ['temperature', '1.0']],
  'granularities without brackets': [
    ...VALID,
    ['response_format', 'verbose_json'],
    ['timestamp_granularities', 'word'],
  ],
  'a chunking strategy in JSON': [...VALID, ['chunking_strategy', '{"type":"server_vad","threshold":0.5}']],
  'a chunking strategy in brackets': [
    ...VALID,
    ['chunking_strategy[type]', 'server_vad'],
    ['chunking_strategy[threshold]', '0.5'],
  ],
  'a chunking strategy in a word': [...VALID, ['chunking_strategy', 'auto']],
  'a tenth of a second': [
    ['file', silence(0.1)],
    ['model', 'whisper-1'],
  ],
};
