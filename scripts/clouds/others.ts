import { requestPath } from '@gateway/upstream/requests/operation-path';
import { type Asked, isObject } from './ask.ts';
import { isAnswered, type Question, short, speaks, type Target, takenOr } from './question.ts';

const CHAT = { messages: [{ role: 'user', content: 'Say yes.' }], max_completion_tokens: 16 };
const RESPONSE = { input: 'Say yes.', max_output_tokens: 16, store: false };
const VENDOR = /^(?:[a-z-]+\.)?([a-z0-9]+)\./;
const vendorOf = ({ model }: Target): string => VENDOR.exec(model)?.[1] ?? '';
/** Makers whose models Bedrock serves by Converse alone, as far as is known. */
const CONVERSE_ONLY = ['amazon', 'meta', 'cohere', 'ai21'];
const OPEN_WEIGHTS = ['deepseek', 'qwen', 'google', 'moonshot', 'moonshotai', 'zai', 'mistral', 'minimax'];
const isOnBedrock = ({ channel }: Target, vendors: readonly string[], vendor: string): boolean =>
  channel.provider === 'bedrock' && vendors.includes(vendor);

const gemini = ({ channel, model }: Target, body: unknown): Asked => ({
  path: requestPath({ channel, model }, { operation: 'gemini' }, false),
  body,
});
const USER = { contents: [{ role: 'user', parts: [{ text: 'Say yes.' }] }] };

/** Keywords of JSON Schema that the older form of Gemini's schemas lacks. */
const KEYWORDS: Readonly<Record<string, object>> = {
  additionalProperties: { type: 'object', properties: {}, additionalProperties: false },
  $ref: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'string' } } },
  const: { type: 'object', properties: { a: { const: 'x' } } },
  exclusiveMinimum: { type: 'object', properties: { a: { type: 'integer', exclusiveMinimum: 0 } } },
  patternProperties: { type: 'object', patternProperties: { '^a': { type: 'string' } } },
  propertyNames: { type: 'object', propertyNames: { pattern: '^a' } },
  multipleOf: { type: 'object', properties: { a: { type: 'integer', multipleOf: 2 } } },
  uniqueItems: {
    type: 'object',
    properties: { a: { type: 'array', items: { type: 'string' }, uniqueItems: true } },
  },
  'enum of numbers': { type: 'object', properties: { a: { enum: [1, 2] } } },
};

/** More than the 20 MB that are known to be taken. */
const LARGE_BYTES = 21 * 1024 * 1024;

const countOf = (usage: unknown, name: string): number => {
  const count = isObject(usage) ? usage[name] : undefined;
  return typeof count === 'number' ? count : 0;
};

export const OTHER_QUESTIONS: readonly Question[] = [
  {
    name: 'open-weights-on-responses',
    asks: 'Does this open-weight model of Bedrock have Responses?',
    isFor: (target) => isOnBedrock(target, OPEN_WEIGHTS, vendorOf(target)),
    settle: async ({ ask, model }) => {
      const finding = takenOr(await ask({ path: '/openai/v1/responses', body: { model, ...RESPONSE } }));
      return finding.answer === 'yes'
        ? { ...finding, set: 'speaks: [responses, chat] in the route' }
        : finding;
    },
  },
  {
    name: 'converse-only-on-chat',
    asks: 'Does this model of Bedrock have Chat Completions beside Converse?',
    isFor: (target) => isOnBedrock(target, CONVERSE_ONLY, vendorOf(target)),
    settle: async ({ ask, model }) => {
      const finding = takenOr(await ask({ path: '/openai/v1/chat/completions', body: { model, ...CHAT } }));
      return finding.answer === 'yes'
        ? { ...finding, set: 'speaks: [chat] in the route, where that is preferred' }
        : finding;
    },
  },
  {
    name: 'json-schema',
    asks: 'Does parametersJsonSchema take every keyword of JSON Schema?',
    isFor: speaks('gemini'),
    settle: async (target) => {
      const refused: string[] = [];
      for (const [keyword, parametersJsonSchema] of Object.entries(KEYWORDS)) {
        const tools = [
          { functionDeclarations: [{ name: 'f', description: 'A function', parametersJsonSchema }] },
        ];
        const heard = await target.ask(gemini(target, { ...USER, tools }));
        if (heard.status === 400) refused.push(keyword);
        else if (!isAnswered(heard)) return { answer: 'unclear', found: short(heard) };
      }
      return refused.length === 0
        ? { answer: 'yes', found: 'all are taken' }
        : { answer: 'no', found: `refused: ${refused.join(', ')}`, set: 'quirks: { jsonSchema: false }' };
    },
  },
  {
    name: 'thoughts-in-output',
    asks: 'Are thoughts counted beside candidatesTokenCount, and not in it?',
    isFor: speaks('gemini'),
    settle: async (target) => {
      const contents = [{ role: 'user', parts: [{ text: 'What is 27 times 43? Think first.' }] }];
      const heard = await target.ask(gemini(target, { contents }));
      const usage = heard.json.usageMetadata;
      const [prompt, output, thoughts, total] = [
        ...['promptTokenCount', 'candidatesTokenCount', 'thoughtsTokenCount', 'totalTokenCount'],
      ].map((name) => countOf(usage, name));
      const found = `prompt ${prompt}, candidates ${output}, thoughts ${thoughts}, total ${total}`;
      if (!isAnswered(heard) || !thoughts)
        return { answer: 'unclear', found: isAnswered(heard) ? `${found}: no thoughts` : short(heard) };
      const rest = (total ?? 0) - (prompt ?? 0);
      return {
        answer: rest === (output ?? 0) + thoughts ? 'yes' : rest === output ? 'no' : 'unclear',
        found,
      };
    },
  },
  {
    name: 'large-inline-data',
    asks: 'Does Gemini take more than 20 MB inline? (By counting its tokens, which is free.)',
    isFor: speaks('gemini'),
    settle: async (target) => {
      const data = Buffer.alloc(LARGE_BYTES).toString('base64');
      const contents = [{ role: 'user', parts: [{ inlineData: { mimeType: 'application/pdf', data } }] }];
      const { channel, model } = target;
      const path = requestPath({ channel, model }, { operation: 'gemini.count_tokens' }, false);
      const heard = await target.ask({ path, body: { contents } });
      const isForSize = heard.status === 413 || /size|too large|exceeds/i.test(heard.text);
      return { answer: isAnswered(heard) ? 'yes' : isForSize ? 'no' : 'unclear', found: short(heard) };
    },
  },
  {
    name: 'imagen-listed',
    asks: 'Does the Gemini API still have Imagen by :predict?',
    isFor: speaks('gemini', 'gemini'),
    settle: async (target) => {
      const { path } = gemini(target, null);
      const heard = await target.ask({
        method: 'GET',
        path: `${path.slice(0, path.indexOf('/models/'))}/models?pageSize=1000`,
      });
      if (!isAnswered(heard) || !Array.isArray(heard.json.models))
        return { answer: 'unclear', found: short(heard) };
      const names = heard.json.models.flatMap((one) =>
        isObject(one) && String(one.name).includes('imagen') ? [String(one.name)] : [],
      );
      return {
        answer: names.length > 0 ? 'yes' : 'no',
        found: names.join(', ') || 'no model of that name is listed',
      };
    },
  },
  {
    name: 'spillover-header',
    asks: 'Does Azure name the deployment that a request spilled over to? (Only seen where one did.)',
    isFor: (target) => speaks('chat', 'azure-openai', 'foundry')(target),
    settle: async ({ ask, channel, model }) => {
      const path = requestPath({ channel, model }, { operation: 'chat' }, false);
      const heard = await ask({ path, body: { model, ...CHAT } });
      const names = [...heard.headers.keys()].filter((name) => name.includes('spillover'));
      const others = [...heard.headers.keys()].filter((name) => name.startsWith('x-ms-'));
      if (!isAnswered(heard)) return { answer: 'unclear', found: short(heard) };
      return names.length > 0
        ? { answer: 'yes', found: names.join(', ') }
        : {
            answer: 'unclear',
            found: `none of its headers names one (${others.join(', ') || 'no x-ms- headers'})`,
          };
    },
  },
  {
    name: 'company-chat',
    asks: 'Does this address have Chat Completions, as Cohere and watsonx are said to?',
    isFor: ({ channel }) =>
      /(?:^|\.)cohere\.(?:ai|com)$|\.ml\.cloud\.ibm\.com$/.test(new URL(channel.origin).hostname),
    settle: async ({ ask, channel, model }) =>
      takenOr(
        await ask({
          path: requestPath({ channel, model }, { operation: 'chat' }, false),
          body: { model, messages: CHAT.messages, max_tokens: 16 },
        }),
      ),
  },
];

/** What no request of a script can settle, and what does. */
export const NOT_ASKED: readonly string[] = [
  'The shape of an error in the middle of a stream of Bedrock\'s Messages path: it cannot be brought about. Look for "upstream" errors of streams in the log.',
  'Whether 16 MiB is the bound of one AWS event: larger events are not seen.',
  'Whether geographic profiles of the newest Claude cost a tenth more: compare the bill, and set priceFactor on the route.',
];
