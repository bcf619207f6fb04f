import type { ReactNode } from 'react';
import classes from './cell-text.module.css';

/** A line of a table's cell, cut where it is too long. An element of its own: a row of the library's takes five times as long to draw. */
export const Line = ({ children }: { children: ReactNode }) => (
  <span className={classes.line}>{children}</span>
);

/** A line, and a quieter one below it. */
export const TwoLines = ({ first, second }: { first: ReactNode; second: ReactNode }) => (
  <>
    <span className={classes.line}>{first}</span>
    <span className={classes.note}>{second}</span>
  </>
);

/** What a row is called, and its id. */
export const NameAndId = ({ name, id }: { name: string; id: string }) => (
  <>
    <span className={`${classes.line} ${classes.name}`}>{name}</span>
    <span className={`${classes.note} ${classes.id}`}>{id}</span>
  </>
);
