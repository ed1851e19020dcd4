// Without positions, attention treats its tokens as a set: four tokens to shuffle; a cloud and a sentence.
import type { Lesson } from '../context.ts';
import './set.css';
import { cloudFigure, sentenceFigure } from './set_kinds.tsx';
import { shuffleFigure } from './set_shuffle.tsx';

export function setSection(lesson: Lesson) {
  return {
    'set-shuffle': shuffleFigure(lesson),
    'set-cloud': cloudFigure(lesson),
    'set-sentence': sentenceFigure(lesson),
  };
}
