import { anthropicClient, openaiClient } from '../../keys/client-settings.ts';
import { type Call, type FormPart, headersOf } from '../exchange/call.ts';
import { python, shellWord, shortened, typeScript } from './literal.ts';

interface Sample {
  readonly language: string;
  /** What it needs. */
  readonly needs: string;
  readonly text: string;
}

interface SampleOptions {
  /** Without a slash at its end. */
  readonly publicUrl: string;
  /** The request is sent to each of them; absent: to the call's own. */
  readonly models?: readonly string[];
}

/** A request as code, with the key in an environment variable. */
export const samplesOf = (call: Call, options: SampleOptions): readonly Sample[] => [
  { language: 'curl', needs: `Expects the key in ${KEY_VARIABLE}.`, text: curlOf(call, options) },
  ...clientSamples(call, options),
];

/** Stands for the model in a word of the shell. */
const MODEL_PLACE = '@@model@@';

function curlOf(call: Call, { publicUrl, models }: SampleOptions): string {
  if (models !== undefined && call.body.kind === 'json') {
    const each = { ...call, body: { ...call.body, json: { ...call.body.json, model: MODEL_PLACE } } };
    const command = curlOf(each, { publicUrl }).replace(MODEL_PLACE, `'"$model"'`);
    return `for model in ${models.map(shellWord).join(' ')}; do\n  echo "# $model"\n  ${command}\ndone`;
  }
  const { path, body } = call;
  const headers = Object.entries(headersOf(call)).map(
    ([name, value]) => `-H ${shellWord(`${name}: ${value}`)}`,
  );
  const sent =
    body.kind === 'json'
      ? [
          "-H 'content-type: application/json'",
          `-d ${shellWord(JSON.stringify(shortened(body.json), null, 2))}`,
        ]
      : body.parts.map(([name, value]) =>
          value instanceof File
            ? `-F ${shellWord(`${name}=@${value.name}`)}`
            : `--form-string ${shellWord(`${name}=${value}`)}`,
        );
  const file = CLIENT_CALLS[path]?.answer === 'sound' ? [`-o ${soundFile(call)}`] : [];
  return [
    `curl -N ${publicUrl}${path}`,
    `-H "Authorization: Bearer $${KEY_VARIABLE}"`,
    ...headers,
    ...sent,
    ...file,
  ].join(' \\\n  ');
}

function clientSamples(call: Call, options: SampleOptions): Sample[] {
  const client = CLIENT_CALLS[call.path];
  if (client === undefined) return [];
  const npmPackage = client.client === 'openai' ? 'openai' : '@anthropic-ai/sdk';
  return [
    {
      language: 'Python',
      needs: `Run pip install ${client.client} first. Expects the key in ${KEY_VARIABLE}.`,
      text: pythonOf(call, client, options),
    },
    {
      language: 'TypeScript',
      needs: `Run npm install ${npmPackage} first. Expects the key in ${KEY_VARIABLE}.`,
      text: typeScriptOf(call, client, options),
    },
  ];
}

/** The members of a call of a client: those of a form with their files opened. */
function membersOf(
  { body }: Call,
  fileOf: (file: File) => string,
  write: (value: unknown) => string,
): (readonly [string, string])[] {
  if (body.kind === 'json')
    return Object.entries(body.json).map(([name, value]) => [name, write(shortened(value))]);
  return body.parts.map(([name, value]) => [
    name,
    value instanceof File ? fileOf(value) : write(typedPart([name, value])),
  ]);
}

const FORM_NUMBERS = ['n', 'partial_images'];

/** Forms have texts only; the clients take what the text stands for. */
function typedPart([name, value]: FormPart): unknown {
  if (FORM_NUMBERS.includes(name)) return Number(value);
  return name === 'stream' ? value === 'true' : value;
}

const isStreamed = ({ body }: Call): boolean =>
  body.kind === 'json'
    ? body.json.stream === true
    : body.parts.some(([name, value]) => name === 'stream' && value === 'true');

const soundFile = ({ body }: Call): string =>
  `speech.${body.kind === 'json' && typeof body.json.response_format === 'string' ? body.json.response_format : 'mp3'}`;

function pythonOf(
  call: Call,
  { client, method, answer }: ClientCall,
  { publicUrl, models }: SampleOptions,
): string {
  const isOpenai = client === 'openai';
  const members = membersOf(
    call,
    (file) => `open(${python(file.name)}, "rb")`,
    (value) => python(value, '    '),
  );
  if (call.isJob) members.push(['extra_headers', python({ Prefer: 'respond-async' })]);
  const lines = [
    ...(answer === 'images' && !call.isJob ? ['import base64'] : []),
    'import os',
    `from ${client} import ${isOpenai ? 'OpenAI' : 'Anthropic'}`,
    '',
    `client = ${isOpenai ? 'OpenAI' : 'Anthropic'}(`,
    `    base_url=${python(isOpenai ? `${publicUrl}/v1` : publicUrl)},`,
    `    api_key=os.environ[${python(KEY_VARIABLE)}],`,
    ')',
    '',
  ];
  const request = [
    `answer = client.${method}(`,
    ...membersFor(models, members).map(([name, value]) => `    ${name}=${value},`),
    ')',
    ...pythonEnd(call, answer),
  ];
  const all =
    models === undefined
      ? request
      : [`for model in ${python(models)}:`, ...indented(['print("#", model)', ...request], '    ')];
  return [...lines, ...all].join('\n');
}

/** In a loop over models the model is its variable. */
const membersFor = (
  models: readonly string[] | undefined,
  members: readonly (readonly [string, string])[],
): readonly (readonly [string, string])[] =>
  models === undefined ? members : members.map(([name, value]) => [name, name === 'model' ? 'model' : value]);

const indented = (lines: readonly string[], indent: string): readonly string[] =>
  lines.flatMap((line) => line.split('\n')).map((line) => `${indent}${line}`);

function pythonEnd(call: Call, answer: ClientCall['answer']): readonly string[] {
  if (call.isJob || (answer === 'text' && !isStreamed(call))) return ['print(answer)'];
  if (answer === 'text') return ['for event in answer:', '    print(event)'];
  if (answer === 'sound') return [`answer.write_to_file("${soundFile(call)}")`];
  if (isStreamed(call))
    return [
      'for at, event in enumerate(answer):',
      '    with open(f"{event.type}-{at}.png", "wb") as file:',
      '        file.write(base64.b64decode(event.b64_json))',
    ];
  return [
    'for at, image in enumerate(answer.data):',
    '    with open(f"image-{at}.png", "wb") as file:',
    '        file.write(base64.b64decode(image.b64_json))',
  ];
}

function typeScriptOf(
  call: Call,
  { client, method, answer }: ClientCall,
  { publicUrl, models }: SampleOptions,
): string {
  const members = membersOf(
    call,
    (file) => `createReadStream(${typeScript(file.name)})`,
    (value) => typeScript(value, '  '),
  );
  const files = [
    ...(call.body.kind === 'form' && call.body.parts.some(([, value]) => value instanceof File)
      ? ["import { createReadStream } from 'node:fs';"]
      : []),
    ...(answer !== 'text' && !call.isJob ? ["import { writeFile } from 'node:fs/promises';"] : []),
  ];
  const made = (client === 'openai' ? openaiClient : anthropicClient)({
    publicUrl,
    key: `process.env.${KEY_VARIABLE}`,
  });
  const options = call.isJob ? `, ${typeScript({ headers: { Prefer: 'respond-async' } })}` : '';
  const request = [
    `const answer = await ${client}.${method}({`,
    ...membersFor(models, members).map(([name, value]) =>
      name === value ? `  ${name},` : `  ${name}: ${value},`,
    ),
    `}${options});`,
    ...typeScriptEnd(call, answer),
  ];
  const all =
    models === undefined
      ? request
      : [
          `for (const model of ${typeScript(models)}) {`,
          ...indented(["console.log('#', model);", ...request], '  '),
          '}',
        ];
  return [...files, made, '', ...all].join('\n');
}

function typeScriptEnd(call: Call, answer: ClientCall['answer']): readonly string[] {
  if (call.isJob || (answer === 'text' && !isStreamed(call))) return ['console.log(answer);'];
  if (answer === 'text') return ['for await (const event of answer) console.log(event);'];
  if (answer === 'sound')
    return [`await writeFile('${soundFile(call)}', Buffer.from(await answer.arrayBuffer()));`];
  if (isStreamed(call))
    return [
      'let at = 0;',
      'for await (const { type, b64_json } of answer)',
      "  await writeFile(type + '-' + at++ + '.png', Buffer.from(b64_json, 'base64'));",
    ];
  return [
    'for (const [at, { b64_json }] of (answer.data ?? []).entries())',
    "  await writeFile('image-' + at + '.png', Buffer.from(b64_json ?? '', 'base64'));",
  ];
}

/** What the official clients call for a path, and what is done with the answer. */
interface ClientCall {
  readonly client: 'openai' | 'anthropic';
  /** The method, the same in both languages. */
  readonly method: string;
  readonly answer: 'text' | 'images' | 'sound';
}

const CLIENT_CALLS: Readonly<Record<string, ClientCall>> = {
  '/v1/responses': { client: 'openai', method: 'responses.create', answer: 'text' },
  '/v1/messages': { client: 'anthropic', method: 'messages.create', answer: 'text' },
  '/v1/chat/completions': { client: 'openai', method: 'chat.completions.create', answer: 'text' },
  '/v1/images/generations': { client: 'openai', method: 'images.generate', answer: 'images' },
  '/v1/images/edits': { client: 'openai', method: 'images.edit', answer: 'images' },
  '/v1/audio/speech': { client: 'openai', method: 'audio.speech.create', answer: 'sound' },
  '/v1/audio/transcriptions': { client: 'openai', method: 'audio.transcriptions.create', answer: 'text' },
};

/** Where samples take the key from: a secret belongs in no code. */
const KEY_VARIABLE = 'GATEWAY_KEY';
