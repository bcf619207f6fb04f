import { GatewayError } from '@gateway/contracts/gateway-error';
import { isObject, type JsonObject } from '../../wire/json-object.ts';

/** Entries of one list of a request: items, messages, blocks of a message, tools. Anthropic documents 100,000 messages. */
const MAX_ENTRIES = 100_000;
/** Far more than what any provider takes: 4 at OpenAI, 5 at Google. */
const MAX_STOP_SEQUENCES = 256;
const MAX_STOP_CHARACTERS = 1024;

/** The members of the protocols that are lists. */
const LISTS = ['input', 'messages', 'contents', 'system', 'tools'] as const;
const INNER_LISTS = ['content', 'parts'] as const;
const STOPS = ['stop', 'stop_sequences'] as const;

/** Refuses lists that no conversation needs and whose work would keep others waiting. @throws {GatewayError} */
export function checkBounds(body: JsonObject): void {
  for (const name of LISTS) {
    const list = body[name];
    if (!Array.isArray(list)) continue;
    checkLength(list, MAX_ENTRIES, [name]);
    for (const [index, entry] of list.entries()) {
      if (!isObject(entry)) continue;
      for (const inner of INNER_LISTS) {
        const parts = entry[inner];
        if (Array.isArray(parts)) checkLength(parts, MAX_ENTRIES, [name, index, inner]);
      }
    }
  }
  for (const name of STOPS) checkStops(body[name], name);
  const { generationConfig: config = body.generation_config } = body;
  if (isObject(config)) checkStops(config.stopSequences ?? config.stop_sequences, 'stopSequences');
}

function checkStops(stops: unknown, name: string): void {
  if (typeof stops === 'string') checkStop(stops, [name]);
  if (!Array.isArray(stops)) return;
  checkLength(stops, MAX_STOP_SEQUENCES, [name]);
  for (const [index, stop] of stops.entries()) if (typeof stop === 'string') checkStop(stop, [name, index]);
}

function checkLength(list: readonly unknown[], max: number, path: (string | number)[]): void {
  if (list.length <= max) return;
  throw new GatewayError('array_above_max_length', {
    path,
    message: {
      openai: `Invalid '${path.join('.')}': array too long. Expected an array with maximum length ${max}, but got an array with length ${list.length} instead.`,
      anthropic: `List should have at most ${max} items after validation, not ${list.length}`,
    },
  });
}

function checkStop(stop: string, path: (string | number)[]): void {
  if (stop.length <= MAX_STOP_CHARACTERS) return;
  throw new GatewayError('string_above_max_length', {
    path,
    message: {
      openai: `Invalid '${path.join('.')}': string too long. Expected a string with maximum length ${MAX_STOP_CHARACTERS}, but got a string with length ${stop.length} instead.`,
      anthropic: `String should have at most ${MAX_STOP_CHARACTERS} characters`,
    },
  });
}
