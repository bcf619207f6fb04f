import { z } from 'zod';
import { Credential, Deployment, type LitellmFile } from './litellm-file.ts';
import type { TakeNote } from './notes.ts';
import { BARE_NAMES, type ImportedProvider, KINDS, MODE_OF_NAME, PROVIDERS } from './providers.ts';

/** One entry of `model_list` that can be carried over. */
export interface KnownDeployment {
  readonly place: string;
  /** The callers' name, or a pattern with at most one `*`. */
  readonly name: string;
  readonly kind: (typeof KINDS)[keyof typeof KINDS];
  /** The word for its provider in LiteLLM's file. */
  readonly prefix: string;
  readonly provider: ImportedProvider;
  /** Its name at the provider. */
  readonly model: string;
  readonly params: Deployment['litellm_params'];
  readonly info: NonNullable<Deployment['model_info']>;
}

/** What can be carried over of `model_list`; what cannot is noted. */
export function readDeployments(file: LitellmFile, note: TakeNote): readonly KnownDeployment[] {
  const credentials = credentialsOf(file, note);
  return (file.model_list ?? []).flatMap((entry, index) => {
    const place = `model_list[${index}]`;
    const read = readEntry(entry, place, note);
    if (read === null) return [];
    const { litellm_credential_name: credential } = read.litellm_params;
    const values = credential ? credentials.get(credential) : {};
    if (values === undefined)
      note(
        'todo',
        `${place}.litellm_params.litellm_credential_name`,
        'credential_list has no such credential.',
      );
    const params = Deployment.shape.litellm_params.parse({ ...values, ...read.litellm_params });
    return known(place, { ...read, litellm_params: params }, note) ?? [];
  });
}

/** The entry without the members that are not understood; null if what is left is no deployment. */
function readEntry(entry: unknown, place: string, note: TakeNote): Deployment | null {
  const first = Deployment.safeParse(entry);
  if (first.success) return first.data;
  const outline = z
    .looseObject({
      litellm_params: z.record(z.string(), z.unknown()),
      model_info: z.record(z.string(), z.unknown()).nullish(),
    })
    .safeParse(entry);
  if (outline.success) {
    const { litellm_params: params, model_info: info } = outline.data;
    const wrong = first.error.issues.map(({ path: [section, member] }) => ({
      section,
      member: String(member),
    }));
    const without = (section: string, members: Record<string, unknown>) =>
      Object.fromEntries(
        Object.entries(members).filter(
          ([name]) => !wrong.some((one) => one.section === section && one.member === name),
        ),
      );
    const second = Deployment.safeParse({
      ...outline.data,
      litellm_params: without('litellm_params', params),
      model_info: without('model_info', info ?? {}),
    });
    if (second.success) {
      for (const { section, member } of wrong)
        note('left', `${place}.${String(section)}.${member}`, 'Its value is not of the expected type.');
      return second.data;
    }
  }
  note('left', place, 'It has no model_name, or no litellm_params with a model.');
  return null;
}

function known(
  place: string,
  { model_name: name, litellm_params: params, model_info: info }: Deployment,
  note: TakeNote,
): KnownDeployment | null {
  const leave = (text: string) => {
    note('left', place, text);
    return null;
  };
  const [prefix, model] = providerIn(params) ?? [];
  if (prefix === undefined || model === undefined)
    return leave(
      `Whose model '${params.model}' is, is not said in the file: LiteLLM knows it from a list of its own.`,
    );
  const provider = Object.hasOwn(PROVIDERS, prefix) ? PROVIDERS[prefix] : undefined;
  if (provider === undefined)
    return leave(
      `The gateway has no provider '${prefix}'. If it has OpenAI's paths, provider: openai-compatible with its baseUrl reaches it.`,
    );
  if (name.split('*').length > 2 || model.split('*').length > 2)
    return leave('Of several * in a name only one can be passed on.');
  if (model.includes('*') && !name.includes('*')) return leave('A name without * leads to a model with one.');
  const own =
    model.includes('/') && provider.settings !== 'aws' ? model.slice(model.lastIndexOf('/') + 1) : model;
  const guessed = info?.mode ? undefined : MODE_OF_NAME.find(([pattern]) => pattern.test(own))?.[1];
  const mode = info?.mode ?? guessed ?? 'chat';
  if (!isKind(mode)) return leave(`The gateway has no models of the mode '${mode}'.`);
  if (guessed !== undefined)
    note('changed', place, `By its name it is a model of the kind ${KINDS[mode]}; the file does not say it.`);
  const kind = KINDS[mode];
  const reached = kind === 'text' ? (provider.text ?? provider) : provider;
  return { place, name, kind, prefix, provider: reached, model, params, info: info ?? {} };
}

const isKind = (mode: string): mode is keyof typeof KINDS => Object.hasOwn(KINDS, mode);

/** The provider's word and the rest. */
function providerIn({
  model,
  custom_llm_provider: custom,
  api_base,
  base_url,
}: Deployment['litellm_params']) {
  const slash = model.indexOf('/');
  const prefix = slash < 0 ? '' : model.slice(0, slash);
  if (custom) return [custom, prefix === custom ? model.slice(slash + 1) : model] as const;
  if (slash > 0) return [prefix, model.slice(slash + 1)] as const;
  const bare = BARE_NAMES.find(([names]) => names.test(model))?.[1];
  if (bare !== undefined) return [bare, model] as const;
  // LiteLLM takes whatever has an address and is not known for a server with OpenAI's paths.
  return api_base || base_url ? (['openai', model] as const) : null;
}

function credentialsOf(file: LitellmFile, note: TakeNote): ReadonlyMap<string, Record<string, unknown>> {
  const read = (file.credential_list ?? []).flatMap((entry, index) => {
    const { data } = Credential.safeParse(entry);
    if (data !== undefined) return [[data.credential_name, data.credential_values] as const];
    note('left', `credential_list[${index}]`, 'It has no credential_name and credential_values.');
    return [];
  });
  return new Map(read);
}
