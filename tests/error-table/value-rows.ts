import { wavFile } from '../support/media-files.ts';
import {
  anthropic,
  completions,
  countTokens,
  type ErrorRow,
  edits,
  embeddings,
  everywhere,
  images,
  invalid,
  invalidMessage,
  messages,
  moderations,
  openai,
  rerank,
  responses,
  speech,
  transcriptions,
  translations,
} from './error-row.ts';

const INVALID = 'invalid_request_error';
const missing = (name: string) =>
  invalid('missing_required_parameter', name, new RegExp(`^Missing required parameter: '${name}'\\.$`));
const required = (name: string) => invalidMessage(new RegExp(`^${name}: Field required$`));
const audio = { model: 'whisper-1', file: wavFile(1) };

/** Models and parameters. */
export const VALUE_ROWS: Record<string, ErrorRow> = {
  'an unknown model': {
    retry: false,
    cases: everywhere(
      { model: 'gpt-none' },
      openai(
        404,
        [INVALID, 'model_not_found', 'model'],
        /^The model 'gpt-none' does not exist or you do not have access to it\.$/,
      ),
      anthropic(404, 'not_found_error', /^model: gpt-none$/),
    ),
  },
  'a model of another kind': {
    retry: false,
    cases: everywhere(
      { model: 'whisper-1' },
      invalid('unsupported_model', 'model', /'whisper-1' is a transcription model/),
      invalidMessage(/^model: .*'whisper-1' is a transcription model/),
    ),
  },
  'a missing parameter': {
    retry: false,
    cases: [
      // Without a model a moderation goes to the usual one.
      ...everywhere({ model: undefined }, missing('model'), required('model')).filter(
        ({ path }) => path !== '/v1/moderations',
      ),
      embeddings({ input: undefined }, missing('input')),
      rerank({ query: undefined }, missing('query')),
      rerank({ documents: undefined }, missing('documents')),
      moderations({ input: undefined }, missing('input')),
      translations({ model: 'whisper-1' }, missing('file')),
      responses({ input: undefined }, missing('input')),
      messages({ max_tokens: undefined }, required('max_tokens')),
      messages({ messages: undefined }, required('messages')),
      countTokens({ messages: undefined }, required('messages')),
      images({ prompt: undefined }, missing('prompt')),
      speech({ voice: undefined }, missing('voice')),
      transcriptions({ model: 'whisper-1' }, missing('file')),
      edits({ model: 'dall-e-2', prompt: 'x' }, missing('image')),
    ],
  },
  'a wrong type': {
    retry: false,
    cases: [
      responses(
        { temperature: 'hot' },
        invalid(
          'invalid_type',
          'temperature',
          /^Invalid type for 'temperature': expected a decimal, but got a string instead\.$/,
        ),
      ),
      responses(
        { input: [{ role: 'user', content: 1 }] },
        invalid('invalid_type', 'input[0].content', /^Invalid type for 'input\[0\]\.content'/),
      ),
      messages({ max_tokens: 'x' }, invalidMessage(/^max_tokens: Input should be a valid integer$/)),
      messages({ max_tokens: 1.5 }, invalidMessage(/^max_tokens: Input should be a valid integer$/)),
      completions({ max_tokens: 'x' }, invalid('invalid_type', 'max_tokens')),
      embeddings({ dimensions: '8' }, invalid('invalid_type', 'dimensions')),
      rerank({ query: 1 }, invalid('invalid_type', 'query')),
      images({ n: 'two' }, invalid('invalid_type', 'n')),
      speech({ speed: '1' }, invalid('invalid_type', 'speed')),
    ],
  },
  'a value that there is not, or out of range': {
    retry: false,
    cases: [
      responses(
        { temperature: 3 },
        invalid(
          'decimal_above_max_value',
          'temperature',
          /^Invalid 'temperature': decimal above maximum value\. Expected a value <= 2, but got 3 instead\.$/,
        ),
      ),
      responses(
        { reasoning: { effort: 'huge' } },
        invalid(
          'invalid_value',
          'reasoning.effort',
          /^Invalid value: 'huge'\. Supported values are: 'none', /,
        ),
      ),
      responses({ max_output_tokens: 0 }, invalid('integer_below_min_value', 'max_output_tokens')),
      messages(
        { temperature: 1.5 },
        invalidMessage(/^temperature: Input should be less than or equal to 1$/),
      ),
      messages(
        { thinking: { type: 'enabled', budget_tokens: 1023 }, max_tokens: 2000 },
        invalidMessage(/budget_tokens: Input should be greater than or equal to 1024$/),
      ),
      messages(
        { thinking: { type: 'enabled', budget_tokens: 2000 }, max_tokens: 2000 },
        invalidMessage(/max_tokens.*budget_tokens/),
      ),
      messages(
        { messages: [{ role: 'assistant', content: 'x' }] },
        invalidMessage(/first message must use the "user" role/),
      ),
      completions({ temperature: 3 }, invalid('decimal_above_max_value', 'temperature')),
      embeddings({ encoding_format: 'int8' }, invalid('invalid_value', 'encoding_format')),
      embeddings({ input: [] }, invalid('array_below_min_length', 'input')),
      rerank({ top_n: 0 }, invalid('integer_below_min_value', 'top_n')),
      rerank({ documents: [{ title: 'x' }] }, invalid('invalid_value', 'documents[0]')),
      moderations({ input: [] }, invalid('array_below_min_length', 'input')),
      translations(
        { ...audio, response_format: 'diarized_json' },
        invalid('invalid_value', 'response_format'),
      ),
      images({ size: '1x1' }, invalid('invalid_value', 'size', /'1x1'/)),
      images({ n: 2 }, invalid('invalid_value', 'n')),
      images({ prompt: 'x'.repeat(4001) }, invalid('string_above_max_length', 'prompt')),
      speech({ speed: 4.1 }, invalid('decimal_above_max_value', 'speed')),
      speech({ input: 'x'.repeat(4097) }, invalid('string_above_max_length', 'input')),
      speech({ response_format: 'ogg' }, invalid('invalid_value', 'response_format')),
      transcriptions({ ...audio, temperature: '2' }, invalid('decimal_above_max_value', 'temperature')),
      transcriptions({ ...audio, language: 'klingon!' }, invalid('invalid_language_format', 'language')),
      transcriptions({ ...audio, response_format: 'xml' }, invalid('invalid_value', 'response_format')),
    ],
  },
  'a model that its channels do not offer by this endpoint': {
    retry: false,
    cases: [
      completions(
        { model: 'conversations-only' },
        invalid('unsupported_model', 'model', /'conversations-only' is not available through this endpoint/),
      ),
      translations(
        { ...audio, model: 'gpt-4o-transcribe' },
        invalid('unsupported_model', 'model', /'gpt-4o-transcribe' does not translate/),
      ),
    ],
  },
  'a tool choice that names no tool of the request': {
    retry: false,
    cases: [
      responses(
        { tools: [], tool_choice: { type: 'function', name: 'lacking' } },
        invalid('invalid_value', 'tool_choice', /^Tool choice 'lacking' not found in 'tools' parameter\.$/),
      ),
      messages(
        { tools: [], tool_choice: { type: 'tool', name: 'lacking' } },
        invalidMessage(/^tool_choice: Tool 'lacking' not found in provided tools$/),
      ),
      countTokens(
        { tools: [], tool_choice: { type: 'tool', name: 'lacking' } },
        invalidMessage(/^tool_choice: Tool 'lacking' not found in provided tools$/),
      ),
    ],
  },
  'a built-in tool that no channel offers': {
    retry: false,
    cases: [
      responses(
        { model: 'plain', tools: [{ type: 'web_search_preview' }] },
        invalid(
          'unsupported_tool',
          'tools[0]',
          /^Tool 'web_search_preview' is not available for model 'plain'\.$/,
        ),
      ),
      messages(
        { model: 'plain', tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
        invalidMessage(/^tools\.0: .*not available/),
      ),
    ],
  },
};
