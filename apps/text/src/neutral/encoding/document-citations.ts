import type { DocumentPart } from '../parts.ts';
import { type Encoder, staysHome } from './encoder.ts';

/** Reports that a document will not be cited by an upstream whose protocol or model cannot. */
export function dropCitations({ citations, at = [] }: DocumentPart, encoder: Encoder): void {
  if (citations && !staysHome(encoder))
    encoder.losses.drop([...at, 'citations'], 'other models cannot cite documents');
}
