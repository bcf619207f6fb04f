import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './facts.module.css';

/** Names with their values, in two columns. */
export const Facts = ({ of }: { of: readonly (readonly [string, ReactNode])[] }) => (
  <dl className={classes.facts}>
    {of.map(([name, value]) => (
      <div key={name} className={classes.fact}>
        <Text component="dt" size="sm" c="dimmed">
          {name}
        </Text>
        <Text component="dd" size="sm" className={classes.value}>
          {value}
        </Text>
      </div>
    ))}
  </dl>
);
