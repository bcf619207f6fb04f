import { checkOpenAi, missingParameter, unsupportedChoice } from '../checks/check-openai.ts';
import { readJson } from '../checks/read-json.ts';
import type { Rules } from '../checks/rule.ts';
import { asNumber, asObject, asText, isGiven, type JsonObject } from '../json-value.ts';
import { checkModelExists } from '../models/list-models.ts';
import { invalidRequest } from '../replies/provider-error.ts';
import { dataFrame, type Reply, streamReply } from '../replies/reply.ts';
import type { Handler } from '../requests/call.ts';
import { withoutDirectives } from '../script/directives.ts';
import { countTokens } from '../tokens.ts';
import { isSpeechFormat, SPEECH_FORMATS } from './encode-speech.ts';

const RULES: Rules = {
  model: { kind: 'string', required: true, min: 1 },
  input: { kind: 'string', required: true, min: 1, max: 4096 },
  voice: { kind: 'any', required: true },
  instructions: { kind: 'string', max: 4096 },
  response_format: { kind: 'one-of', values: Object.keys(SPEECH_FORMATS) },
  speed: { kind: 'decimal', min: 0.25, max: 4 },
  stream_format: { kind: 'one-of', values: ['audio', 'sse'] },
};

const FIRST_VOICES = ['alloy', 'ash', 'coral', 'echo', 'fable', 'onyx', 'nova', 'sage', 'shimmer'];
const VOICES = [...FIRST_VOICES, 'ballad', 'verse', 'marin', 'cedar'];

const CHARACTERS_PER_SECOND = 15;
const MIN_SECONDS = 0.5;
const OUTPUT_TOKENS_PER_SECOND = 20;

const voicesOf = (model: string): readonly string[] | null => {
  if (model.startsWith('tts-1')) return FIRST_VOICES;
  return model.startsWith('gpt-') ? VOICES : null;
};

const checkSpeech = (body: JsonObject): void => {
  checkOpenAi(body, RULES);
  const model = asText(body.model);
  checkModelExists(model);
  const voices = voicesOf(model);
  const own = asObject(body.voice).id;
  if (typeof body.voice !== 'string' && !isGiven(own)) throw missingParameter('voice');
  if (typeof body.voice === 'string' && voices && !voices.includes(body.voice)) {
    throw unsupportedChoice('voice', body.voice, voices);
  }
  if (!model.startsWith('tts-1')) return;
  for (const [name, refused] of [
    ['instructions', isGiven(body.instructions)],
    ['stream_format', body.stream_format === 'sse'],
  ] as const) {
    if (refused)
      throw invalidRequest(`'${name}' is not supported with this model.`, 'unsupported_parameter', name);
  }
};

/** Length of the speech: fifteen characters a second at speed 1, at least half a second. */
const speechSeconds = (text: string, speed: number): number =>
  Math.max(MIN_SECONDS, [...text].length / CHARACTERS_PER_SECOND / speed);

function* speechEvents(chunks: Iterable<Buffer>, usage: JsonObject): Generator<string> {
  for (const chunk of chunks)
    yield dataFrame({ type: 'speech.audio.delta', audio: chunk.toString('base64') });
  yield dataFrame({ type: 'speech.audio.done', usage });
}

/** `POST /v1/audio/speech`: bytes as a stream, or the same as events. */
export const createSpeech: Handler = (call): Reply => {
  const body = readJson(call);
  const input = asText(body.input);
  call.applyDirectives(input, asText(body.model));
  checkSpeech(body);
  const seconds = speechSeconds(withoutDirectives(input), asNumber(body.speed) ?? 1);
  const name = asText(body.response_format);
  const format = SPEECH_FORMATS[isSpeechFormat(name) ? name : 'mp3'];
  const chunks = format.encode(seconds);
  const input_tokens = countTokens(input);
  const output_tokens = Math.round(seconds * OUTPUT_TOKENS_PER_SECOND);
  const ledger = {
    model: asText(body.model),
    characters: [...input].length,
    audioSeconds: seconds,
    inputTokens: input_tokens,
    outputTokens: output_tokens,
  };
  if (body.stream_format === 'sse') {
    const usage = { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
    return streamReply(speechEvents(chunks, usage), { ledger });
  }
  return { status: 200, contentType: format.contentType, isStream: true, chunks, ledger };
};
