/** A member of a JSON body, or a part of a form: `undefined` members are left out. */
export type JsonBody = Readonly<Record<string, unknown>>;
export type FormPart = readonly [name: string, value: string | File];

/** A request as a caller would send it to the gateway, but for its key. */
export interface Call {
  /** Of the edge: `/v1/responses`. */
  readonly path: string;
  readonly body:
    | { readonly kind: 'json'; readonly json: JsonBody }
    | { readonly kind: 'form'; readonly parts: readonly FormPart[] };
  /** Whether it becomes a job at once, which goes on without its caller. */
  readonly isJob?: boolean;
}

/** The headers that it has beside the key and the content type. */
export const headersOf = ({ path, isJob }: Call): Readonly<Record<string, string>> => ({
  ...(path === '/v1/messages' && { 'anthropic-version': '2023-06-01' }),
  ...(isJob && { prefer: 'respond-async' }),
});
