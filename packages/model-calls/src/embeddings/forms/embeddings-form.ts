import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { EmbeddingsRequest } from '@gateway/contracts/openai/embeddings';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Inputs } from '../inputs.ts';

/** What a provider is to embed. */
export interface Order {
  /** The caller's request, all members. */
  readonly request: EmbeddingsRequest;
  readonly inputs: Inputs;
  /** These are all of the request's inputs. */
  readonly isWhole: boolean;
  readonly candidate: Pick<Candidate, 'model' | 'route'>;
  /** Of a request in Google's form: the title of each input. Null: it is in OpenAI's. */
  readonly google: { readonly titles: readonly (string | undefined)[] } | null;
}

/** A body, and members of the caller's that it could not carry. */
export interface Written {
  /** Null: the caller's own bytes. */
  readonly body: object | null;
  readonly dropped: readonly string[];
}

/** A vector as a provider gives it: numbers, or base64 of little-endian 32-bit floats. */
export type Vector = readonly number[] | string;

/** How a provider's requests and replies are written. */
export interface EmbeddingsForm {
  /** What is called at a model, where its provider's path ends in the model: `:predict`. */
  readonly method?: `:${string}`;
  /** It is Google's: it takes titles, and all words of Google's for what vectors are for. */
  readonly isGoogles?: true;
  /** The header that reports tokens where the body does not. */
  readonly tokenHeader?: string;
  /** An error means that this provider cannot take the request. */
  write(order: Order): Promise<Written | GatewayError>;
  /** The vectors of a reply, in the order of the inputs; null where it has none, or something else among them. */
  vectorsOf(reply: unknown): readonly Vector[] | null;
  /** The tokens that a reply reports; null where it reports none. */
  tokensOf(reply: unknown): number | null;
}
