import { CALLER_PROPERTIES } from './caller-properties.ts';
import type { OpenProperty } from './open-property.ts';
import { UPSTREAM_PROPERTIES } from './upstream-properties.ts';
import { WIRE_PROPERTIES } from './wire-properties.ts';

export const ALL_PROPERTIES: readonly OpenProperty[] = [
  ...CALLER_PROPERTIES,
  ...UPSTREAM_PROPERTIES,
  ...WIRE_PROPERTIES,
];
