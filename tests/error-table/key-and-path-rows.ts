import {
  anthropic,
  countTokens,
  type ErrorRow,
  everywhere,
  invalid,
  invalidMessage,
  messages,
  openai,
  responses,
} from './error-row.ts';

const INVALID = 'invalid_request_error';
const AUTHENTICATION = 'authentication_error';
const WRONG_KEY = 'gw_this-is-no-key-of-ours-0000000000000000';

/** All bad keys look the same: which of them it is, is nobody's business. */
export const unauthenticated = openai(401, [INVALID, 'invalid_api_key'], /Incorrect API key/);
export const badBearer = anthropic(401, AUTHENTICATION, /^Invalid bearer token$/);
export const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
export const apiKey = (key: string) => ({ headers: { authorization: '', 'x-api-key': key } });

/** A response that does not exist for the caller. */
export const responseNotFound = openai(404, [INVALID, null, 'id'], /^Response with id '\w+' not found\.$/);

/** Who may call, and what there is to be called. */
export const KEY_AND_PATH_ROWS: Record<string, ErrorRow> = {
  'no key': {
    retry: false,
    headers: { 'www-authenticate': 'Bearer' },
    cases: everywhere(
      { headers: { authorization: '' } },
      openai(401, [INVALID, null], /^You didn't provide an API key/),
      anthropic(401, AUTHENTICATION, /^x-api-key header is required$/),
    ),
  },
  'an unknown key': { retry: false, cases: everywhere(bearer(WRONG_KEY), unauthenticated, badBearer) },
  'a malformed key': { retry: false, cases: everywhere(bearer('x'), unauthenticated, badBearer) },
  'an unknown x-api-key': {
    retry: false,
    cases: [messages(apiKey(WRONG_KEY), anthropic(401, AUTHENTICATION, /^invalid x-api-key$/))],
  },
  'a wrong method': {
    retry: false,
    headers: { allow: 'POST, OPTIONS' },
    cases: [
      ...everywhere(
        { method: 'PUT' },
        openai(405, [INVALID, 'method_not_supported'], /PUT/),
        anthropic(405, INVALID, /PUT/),
      ),
      { path: '/v1/responses', request: {}, error: openai(405, [INVALID, 'method_not_supported'], /GET/) },
    ],
  },
  'a path with a malformed escape': {
    retry: false,
    cases: [
      ...['/v1/images/assets/%zz', '/v1/models/%zz', '/v1/responses/%zz'].map((path) => ({
        path,
        request: {},
        error: invalid(null, null, /malformed percent-escape/),
      })),
      { path: '/v1/messages/%zz', request: {}, error: invalidMessage(/malformed percent-escape/) },
    ],
  },
  'an unknown path': {
    retry: false,
    cases: [
      {
        path: '/v1/nothing?x=1',
        request: { json: {} },
        error: openai(404, [INVALID, null], /^Invalid URL \(POST \/v1\/nothing\)$/),
      },
      {
        path: '/nothing',
        request: {},
        error: openai(404, [INVALID, null], /^Invalid URL \(GET \/nothing\)$/),
      },
      {
        path: '/v1/messages/nothing',
        request: { json: {} },
        error: anthropic(404, 'not_found_error', /^Invalid URL/),
      },
    ],
  },
  'a response that cannot be found': {
    retry: false,
    cases: [
      responses(
        { previous_response_id: 'resp_none' },
        invalid(
          'previous_response_not_found',
          'previous_response_id',
          /^Previous response with id 'resp_none' not found\.$/,
        ),
      ),
      ...[
        ['GET', ''],
        ['DELETE', ''],
        ['POST', '/cancel'],
        ['GET', '/input_items'],
      ].map(([method = '', subpath]) => ({
        path: `/v1/responses/resp_none${subpath}`,
        request: { method },
        error: responseNotFound,
      })),
    ],
  },
  'an item, a conversation or a thread that cannot be found': {
    retry: false,
    cases: [
      responses(
        { input: [{ type: 'item_reference', id: 'msg_none' }] },
        openai(404, [INVALID, null, 'input'], /^Item with id 'msg_none' not found\.$/),
      ),
      responses(
        { conversation: { id: 'conv_none' } },
        openai(404, [INVALID, null, 'conversation'], /^Conversation with id 'conv_none' not found\.$/),
      ),
      ...[
        ['GET', ''],
        ['DELETE', ''],
        ['GET', '/items'],
        ['GET', '/items/msg_none'],
        ['DELETE', '/items/msg_none'],
      ].map(([method = '', subpath]) => ({
        path: `/v1/conversations/conv_none${subpath}`,
        request: { method },
        error: openai(404, [INVALID, null, 'id'], /^Conversation with id 'conv_none' not found\.$/),
      })),
      ...[messages, countTokens].map((ask) =>
        ask(
          { thread: { type: 'continue', previous_message_id: 'msg_none' } },
          anthropic(
            404,
            'not_found_error',
            /^thread\.previous_message_id: Message with id 'msg_none' not found\./,
            'thread_not_found',
          ),
        ),
      ),
    ],
  },
};
