import { readdirSync, readFileSync } from 'node:fs';
import {
  MessagesBlock,
  MessagesRequestWire,
  MessagesTool,
  MessagesWebSearchTool,
} from '@gateway/contracts/anthropic/messages-wire';
import { GatewayError } from '@gateway/contracts/gateway-error';
import {
  GeminiFunctions,
  GeminiRequestPart,
  GeminiRequestWire,
} from '@gateway/contracts/google/gemini-request';
import { ChatRequest } from '@gateway/contracts/openai/chat-wire';
import {
  ResponsesItem,
  ResponsesRequestWire,
  ResponsesTool,
  ResponsesToolChoice,
} from '@gateway/contracts/openai/responses-wire';
import type { QuirksInput } from '@gateway/contracts/quirks';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { translateRequest } from '../conversion/translate-request.ts';
import { testTarget, testTokens } from '../testing/test-context.ts';
import { CALLERS } from '../testing/test-streams.ts';
import { TEXT_PROTOCOLS, type TextProtocolName as TextProtocol } from '../testing/text-pairs.ts';
import { formatPath, type Path } from '../wire/path.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import type { TextProtocol as Caller } from '../wire/text-protocol.ts';

const FOLDER = new URL('./fixtures/requests/', import.meta.url);

interface Fixture {
  readonly name: string;
  readonly caller: Caller;
  readonly body: unknown;
}

/** Its losses are named as most clients spell them. */
const OTHER_SPELLING = 'gemini-other-spelling.json';

const FIXTURES: readonly Fixture[] = readdirSync(FOLDER).flatMap((file) => {
  const caller = CALLERS.find((protocol) => file.startsWith(`${protocol}-`));
  if (caller === undefined || file === OTHER_SPELLING) return [];
  const body = parseBody(readFileSync(new URL(file, FOLDER), 'utf8'));
  return [{ name: file.replace('.json', ''), caller, body }];
});

/** Upstreams that take everything their protocol has. */
const QUIRKS: Readonly<Record<TextProtocol, QuirksInput>> = {
  responses: {},
  messages: { systemMessages: 'anywhere' },
  chat: { webSearch: 'web_search_options', customTools: true, reasoningBack: 'known' },
};

interface Outcome {
  /** What reaches the upstream, or the gateway's own part of the answer. */
  readonly carried: string;
  readonly dropped: readonly string[];
}

/** Null where the request is refused. */
function translated(caller: Caller, target: TextProtocol, body: unknown): Outcome | null {
  try {
    const {
      body: written,
      dropped,
      plan,
    } = translateRequest({
      caller,
      body,
      target: testTarget(target, QUIRKS[target]),
      tokens: testTokens,
    });
    const { tools, stopSequences } = plan.restore;
    const { model, stream, showUsage, showSources, showEncryptedReasoning, echo } = plan;
    const answer = { model, stream, showUsage, showSources, showEncryptedReasoning, metadata: echo.metadata };
    return {
      carried: JSON.stringify([written, [...tools], stopSequences, answer]),
      dropped: dropped.map(({ path }) => formatPath(path)),
    };
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

interface Located {
  readonly at: Path;
  readonly object: { readonly [name: string]: unknown };
}

/** Every object of a body, with its path. */
function objectsIn(value: unknown, at: Path = []): Located[] {
  if (Array.isArray(value)) return value.flatMap((entry, index) => objectsIn(entry, [...at, index]));
  if (!isJsonObject(value)) return [];
  const inner = Object.entries(value).flatMap(([name, member]) => objectsIn(member, [...at, name]));
  return [{ at, object: value }, ...inner];
}

/** The body with something else at this path. */
function changed(
  body: unknown,
  [step, ...rest]: Path,
  change: (value: { [name: string]: unknown }) => unknown,
): unknown {
  if (step === undefined) return change(isJsonObject(body) ? body : {});
  if (Array.isArray(body)) {
    return body.map((entry, index) => (index === step ? changed(entry, rest, change) : entry));
  }
  return isJsonObject(body) ? { ...body, [step]: changed(body[step], rest, change) } : body;
}

const isReported = (path: string, outcome: Outcome | null): boolean =>
  (outcome?.dropped ?? []).some(
    (whole) => path === whole || path.startsWith(`${whole}.`) || path.startsWith(`${whole}[`),
  );

const crossings = FIXTURES.flatMap((fixture) =>
  TEXT_PROTOCOLS.filter((target) => target !== fixture.caller).map((target) => ({ ...fixture, target })),
).filter(({ caller, target, body }) => translated(caller, target, body) !== null);

/** Tools that a list of allowed ones leaves out are not shown to a model, so nothing of them can be carried. */
const HIDDEN_TOOLS: Readonly<Record<string, RegExp>> = { 'responses-tools': /^tools\[[34]\]/ };

const SENTINEL = 'nowhere-else-in-a-fixture';

test.for(crossings)(
  '$name for $target: an unknown member is carried or reported, at any position',
  ({ name, caller, target, body }) => {
    const silent = objectsIn(body).flatMap(({ at }) => {
      const path = formatPath([...at, 'unheard']);
      if (HIDDEN_TOOLS[name]?.test(path)) return [];
      const extended = changed(body, at, (object) => ({ ...object, unheard: SENTINEL }));
      const outcome = translated(caller, target, extended);
      const isCarried = outcome === null || outcome.carried.includes(SENTINEL);
      return isCarried || isReported(path, outcome) ? [] : [path];
    });
    expect(silent).toEqual([]);
  },
);

const valueAt = (body: unknown, path: string): unknown =>
  path.split(/[.[\]]+/).reduce<unknown>((value, step) => {
    if (step === '') return value;
    return Array.isArray(value) ? value[Number(step)] : isJsonObject(value) ? value[step] : undefined;
  }, body);

test.for(crossings)(
  "$name for $target: each loss is named by its path in the caller's request",
  ({ caller, target, body }) => {
    const dropped = translated(caller, target, body)?.dropped ?? [];
    expect(dropped.filter((path) => valueAt(body, path) === undefined)).toEqual([]);
  },
);

const full = crossings.filter(({ name }) => name.endsWith('-full'));

test('the requests with every member are translated in all nine directions', () => {
  expect(full).toHaveLength(9);
});

/** Members that mean nothing to a model of the target, or nothing new: `path for target`. */
const MEANINGLESS: readonly RegExp[] = [
  // Labels of earlier items, and the position of a call in a stream: they come back with every answer.
  /^input\[\d+\]\.(id|status) for /,
  /\.tool_calls\[\d+\]\.index for /,
  // Words that have one value only, or name the default.
  /^input\[\d+\]\.type for /,
  /^tools\[0\]\.type for /,
  /user_location\.type for /,
  /source\.media_type for /,
  /^input\[7\]\.role for /,
  /^thinking\.display for responses/,
  /\.strict for messages/,
  // The version of web search, and its one name in the Messages protocol.
  /^tools\[1\]\.(type|name) for (responses|chat)/,
  /^tools\[3\]\.type for /,
  // A call that the model made itself.
  /\.caller(\.type)? for /,
  // The name of the tool that the call has named already.
  /^messages\[4\]\.name for /,
  // Whose a content is where it is the usual one, and what a result's call and an address have said already.
  /^(systemInstruction|contents\[[02]\])\.role for /,
  /\.functionResponse\.(id|name) for /,
  /\.fileData\.mimeType for /,
  // A schema says that JSON is meant.
  /^generationConfig\.responseMimeType for /,
  // OpenAI's protocols demand a name for a schema; no model needs it.
  /\.(format|json_schema)\.name for messages/,
];

test.for(full)('$name for $target: no known member is lost without a word', ({ caller, target, body }) => {
  const outcome = translated(caller, target, body);
  const isHeeded = (change: unknown) =>
    JSON.stringify(translated(caller, target, change)) !== JSON.stringify(outcome);
  const silent = objectsIn(body).flatMap(({ at, object }) =>
    Object.entries(object).flatMap(([name, value]) => {
      const path = formatPath([...at, name]);
      if (isReported(path, outcome) || MEANINGLESS.some((pattern) => pattern.test(`${path} for ${target}`)))
        return [];
      const without = changed(body, at, ({ [name]: _, ...rest }) => rest);
      const another = changed(body, [...at, name], () => `${value}2`);
      return isHeeded(without) && (typeof value !== 'string' || isHeeded(another)) ? [] : [path];
    }),
  );
  expect(silent).toEqual([]);
});

/** Every object schema within a schema. */
function objectSchemasIn(schema: unknown): z.ZodObject[] {
  if (schema instanceof z.ZodObject) {
    return [schema, ...Object.values(schema.shape).flatMap(objectSchemasIn)];
  }
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(objectSchemasIn);
  if (schema instanceof z.ZodArray) return objectSchemasIn(schema.element);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return objectSchemasIn(schema.unwrap());
  }
  return [];
}

const { server_tool_use: _call, web_search_tool_result: _result, ...requestBlocks } = MessagesBlock;

const SCHEMAS: Readonly<Record<Caller, readonly unknown[]>> = {
  responses: [
    ResponsesRequestWire,
    ...Object.values(ResponsesItem),
    ...Object.values(ResponsesTool),
    ...Object.values(ResponsesToolChoice),
  ],
  messages: [MessagesRequestWire, MessagesTool, MessagesWebSearchTool, ...Object.values(requestBlocks)],
  chat: [ChatRequest],
  gemini: [GeminiRequestWire, GeminiRequestPart, GeminiFunctions],
};

/** Members with which no request gets as far as being read: they need a provider that keeps responses. */
const STATEFUL = /^(background|previous_response_id|conversation|prompt)$/;

test.for(CALLERS)('every member that %s names is in a recorded request', (caller) => {
  const objects = FIXTURES.filter((fixture) => fixture.caller === caller)
    .flatMap(({ body }) => objectsIn(body))
    .map(({ object }) => object);
  const missing = SCHEMAS[caller].flatMap(objectSchemasIn).flatMap((schema) => {
    const instances = objects.filter((object) => schema.safeParse(object).success);
    const given = new Set(instances.flatMap((object) => Object.keys(object)));
    return Object.keys(schema.shape).filter((name) => !given.has(name) && !STATEFUL.test(name));
  });
  expect(missing).toEqual([]);
});
