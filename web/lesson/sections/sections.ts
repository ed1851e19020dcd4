// The lesson's sections, in its order. Each gives the figures that index.html has places for.
import type { ComponentType } from 'preact';

import type { Lesson } from '../context.ts';
import { dotSection } from './dot.tsx';
import { figureSection } from './figure.tsx';
import { headsSection } from './heads.tsx';
import { listingsSection } from './listings.tsx';
import { machineSection } from './machine.tsx';
import { scaleSection } from './scale.tsx';
import { setSection } from './set.tsx';
import { tokensSection } from './tokens.tsx';
import { turnSection } from './turn.tsx';

export const sections: readonly ((lesson: Lesson) => Record<string, ComponentType>)[] = [
  dotSection,
  turnSection,
  figureSection,
  tokensSection,
  listingsSection,
  scaleSection,
  setSection,
  headsSection,
  machineSection,
];
