/* What only root may read of a mesh, line by line. */
#ifndef CMNWATCH_LOOK_H
#define CMNWATCH_LOOK_H

/* Prints /proc/iomem and the maps of the arm_cmn driver, as far as they are there and may be read. */
void look(void);

#endif
