import { z } from 'zod';
import type { Dialect } from '../gateway-error.ts';
import {
  CLIENT_SECRETS_PATH,
  dialectOf,
  ENDPOINTS,
  type Endpoint,
  GOOGLE_BASES,
  REALTIME,
  WEBSOCKET,
} from './endpoints.ts';
import { JOB_SCHEMAS, JOB_WEBHOOKS, jobOperation } from './job-operations.ts';
import { REQUEST_BODIES, type RequestBody } from './request-bodies.ts';

type Json = Record<string, unknown>;

/** The JSON Schema of a body, with the file parts of a form beside the text parts. */
function bodySchema({ schema, files }: RequestBody): Json {
  const json: Json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', target: 'draft-2020-12' });
  const { $schema: _, ...rest } = json;
  if (files === undefined) return rest;
  const required = z.array(z.string()).catch([]).parse(rest.required);
  const properties = z.record(z.string(), z.unknown()).catch({}).parse(rest.properties);
  const file = { type: 'string', contentMediaType: 'application/octet-stream' };
  return {
    ...rest,
    properties: {
      ...properties,
      ...Object.fromEntries([...files.required, ...files.optional].map((name) => [name, file])),
    },
    required: [...required, ...files.required],
  };
}

const contentTypeOf = ({ files, isLines }: RequestBody): string => {
  if (files) return 'multipart/form-data';
  return isLines ? 'application/jsonl' : 'application/json';
};

const ERROR_SCHEMAS: Readonly<Record<Dialect, string>> = {
  openai: 'OpenAIError',
  anthropic: 'AnthropicError',
  google: 'GoogleError',
};

/** The header that clients of a dialect send their key in, where they do not send it as a bearer token. */
const KEY_SCHEMES: Readonly<Partial<Record<Dialect, string>>> = {
  anthropic: 'apiKey',
  google: 'googleApiKey',
};

const errorReply = (description: string, path: string) => ({
  description,
  content: {
    'application/json': {
      schema: {
        $ref: `#/components/schemas/${ERROR_SCHEMAS[dialectOf(path)]}`,
      },
    },
  },
});

/** What the gateway itself reads of a query. */
const QUERIES: Readonly<Record<string, readonly Json[]>> = {
  ...Object.fromEntries(
    GOOGLE_BASES.map((base) => [
      `POST ${base}:streamGenerateContent`,
      [
        {
          name: 'alt',
          in: 'query',
          description: '`sse`: server-sent events. Without it the stream is one JSON array.',
          schema: { enum: ['sse', 'json'] },
        },
      ],
    ]),
  ),
  'GET /v1beta/models': [
    { name: 'pageSize', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 1000 } },
    { name: 'pageToken', in: 'query', schema: { type: 'string' } },
  ],
  'GET /v1/responses/{id}': [
    {
      name: 'stream',
      in: 'query',
      description: 'The events of a response that was created with `stream: true` and `background: true`.',
      schema: { type: 'boolean' },
    },
    {
      name: 'starting_after',
      in: 'query',
      description: 'With `stream`: only the events with a sequence number above this one.',
      schema: { type: 'integer', minimum: 0 },
    },
  ],
};

/** What a summary has no room for. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  [`POST ${CLIENT_SECRETS_PATH}`]: `The secret opens the WebSocket \`${REALTIME.method} ${REALTIME.path}?model=…\` as a key does, which has to have the scope \`realtime\`: as a bearer token, or in a browser as the subprotocol \`openai-insecure-api-key.SECRET\` beside \`realtime\`. Each text message is one event of OpenAI's Realtime API in either direction.`,
  [`POST ${WEBSOCKET.path}`]: `The same path opens a WebSocket: \`${WEBSOCKET.method} ${WEBSOCKET.path}\` with \`Upgrade: websocket\` and the same authorization. On it each text message is a JSON event \`{"type": "response.create", …}\` with the members of this body, and each answer is the events that \`stream: true\` would give, one message each. \`stream_id\` names a lane of responses that are made one after the other; \`generate: false\` only prepares a response, whose id the next one continues. Where WebSockets are switched off, the handshake is answered with 426.`,
};

function keySchemeOf(path: string): Json[] {
  const scheme = KEY_SCHEMES[dialectOf(path)];
  return scheme === undefined ? [] : [{ [scheme]: [] }];
}

function operation(endpoint: Endpoint): Json {
  const body = REQUEST_BODIES[`${endpoint.method} ${endpoint.path}`];
  const job = jobOperation(endpoint);
  const description = DESCRIPTIONS[`${endpoint.method} ${endpoint.path}`];
  const inPath = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const queries = QUERIES[`${endpoint.method} ${endpoint.path}`] ?? [];
  const parameters = [...inPath, ...queries, ...(job?.parameters ?? [])];
  return {
    summary: endpoint.summary,
    ...(description !== undefined && { description }),
    tags: [endpoint.service],
    ...(parameters.length > 0 ? { parameters } : {}),
    security: endpoint.auth === 'public' ? [] : [{ bearer: [] }, ...keySchemeOf(endpoint.path)],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.isOptional !== true,
            content: {
              [contentTypeOf(body)]: { schema: bodySchema(body) },
              ...(body.json && { 'application/json': { schema: bodySchema({ schema: body.json }) } }),
            },
          },
        }),
    responses: {
      200: { description: "As the endpoint's protocol has it." },
      ...job?.responses,
      '4XX': errorReply('The request was refused; the message says what to do.', endpoint.path),
      '5XX': errorReply('The gateway or the provider behind it failed.', endpoint.path),
    },
  };
}

const nullableString = { type: ['string', 'null'] };
const COMPONENTS = {
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer' },
    apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
    googleApiKey: { type: 'apiKey', in: 'header', name: 'x-goog-api-key' },
  },
  schemas: {
    ...JOB_SCHEMAS,
    OpenAIError: {
      type: 'object',
      required: ['error'],
      properties: {
        error: {
          type: 'object',
          required: ['message', 'type', 'param', 'code'],
          properties: {
            message: { type: 'string' },
            type: { type: 'string' },
            param: nullableString,
            code: nullableString,
          },
        },
      },
    },
    GoogleError: {
      type: 'object',
      required: ['error'],
      properties: {
        error: {
          type: 'object',
          required: ['code', 'message', 'status'],
          properties: {
            code: { type: 'integer' },
            message: { type: 'string' },
            status: { type: 'string' },
            details: { type: 'array', items: { type: 'object' } },
          },
        },
      },
    },
    AnthropicError: {
      type: 'object',
      required: ['type', 'error', 'request_id'],
      properties: {
        type: { const: 'error' },
        error: {
          type: 'object',
          required: ['type', 'message'],
          properties: { type: { type: 'string' }, message: { type: 'string' } },
        },
        request_id: { type: 'string' },
      },
    },
  },
};

/**
 * The public surface as an OpenAPI 3.1 document, made from the table of endpoints and the wire schemas. It names what
 * the gateway checks; members that it does not name are accepted and travel on.
 */
export function openapiDocument(): Json {
  const paths: Record<string, Json> = {};
  for (const endpoint of ENDPOINTS) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: operation(endpoint) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gateway',
      version: '1',
      description: 'Text, images, speech and transcripts over one base URL.',
    },
    paths,
    webhooks: JOB_WEBHOOKS,
    components: COMPONENTS,
  };
}
