# Prints the kind of each path after following links.
for p do
  if [ -f "$p" ]; then echo file
  elif [ -b "$p" ]; then echo device
  elif [ -d "$p" ]; then echo folder
  elif [ -e "$p" ] || [ -h "$p" ]; then echo other
  elif [ -d "$(dirname -- "$p")" ]; then echo absent
  else echo homeless
  fi
done
